#!/usr/bin/env python3
"""Packs the vectors of the numpy oracle (`oracle.py vectors DIR`) for the tests: pack.py DIR hybrid.bin propagate.bin

Each output is a line of JSON that lists the arrays, then their numbers, little-endian. Of large detail arrays a sample with
a fixed stride is kept: every operator shows at every place, and the file stays small. Tolerances become tier indices
(u8). Compress the outputs with zstd -19.
"""
import ast, json, struct, sys

def npy(path):
    data = open(path, "rb").read()
    size = struct.unpack("<H", data[8:10])[0]
    head = ast.literal_eval(data[10:10 + size].decode())
    assert head["descr"] == "<f8" and not head["fortran_order"]
    body = data[10 + size:]
    return head["shape"], struct.unpack(f"<{len(body) // 8}d", body)

where, hybrid, propagate = sys.argv[1:]
cases, values, tiers = [], bytearray(), bytearray()
taus, maps = [1e-2, 1e-4, 1e-6], []
for case in json.load(open(f"{where}/vectors.json")):
    name = case["name"]
    if name.startswith("hybrid_"):
        arrays = {}
        for part in ["input", "coarsest"] + [f"detail{k}" for k in range(case["L"] + case["M"])]:
            shape, v = npy(f"{where}/{name}_{part}.npy")
            stride = 1 if part in ("input", "coarsest") else max(1, len(v) // 1500) | 1
            kept = v[::stride]
            arrays[part] = {"shape": shape, "stride": stride, "offset": len(values) // 8, "count": len(kept)}
            values += struct.pack(f"<{len(kept)}d", *kept)
        cases.append({**case, "arrays": arrays})
    elif name.startswith("propagate_"):
        levels = []
        for k in range(case["levels"] + 1):
            shape, v = npy(f"{where}/{name}_{k}.npy")
            levels.append({"blocks": shape, "offset": len(tiers), "count": len(v)})
            tiers += bytes(taus.index(t) for t in v)
        maps.append({"name": name, "levels": levels})
open(hybrid, "wb").write(json.dumps(cases).encode() + b"\n" + values)
open(propagate, "wb").write(json.dumps({"taus": taus, "maps": maps}).encode() + b"\n" + tiers)
