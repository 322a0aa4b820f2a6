#!/usr/bin/env python3
"""Side by side with SZ3, SPERR and zfp: ratio and speed at the same absolute bound.

    peers.py PROGRAM [FILE:SHAPE:f32|f64[:big]] ... [--rel 1e-2 1e-4] [--runs 3] [--setting "--tile 8"]

Without files, the bundled sample is used. Bounds are REL x max|u|, handed to every coder as the same absolute number.
Peers run on one thread (hdf5plugin for SZ3 and SPERR, zfpy for zfp), ours on all threads of --threads. Ratios count
whole streams, headers and index included. Speeds are medians in memory; SZ3's and SPERR's are those of an HDF5 file
in memory, with the time of an uncompressed one taken off. Every rebuilt volume is checked.

Makes its own Python environment in target/peers-venv.
"""
import argparse
import io
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, "target", "peers-venv")
PACKAGES = ["numpy", "h5py", "hdf5plugin==7.1.0", "zfpy==1.0.1"]
SAMPLE = os.path.join(ROOT, "assets", "miranda_density_96x72x72.f32") + ":96x72x72:f32"

if not sys.prefix.endswith("peers-venv"):
    python = os.path.join(VENV, "bin", "python")
    if not os.path.exists(python):
        subprocess.check_call([sys.executable, "-m", "venv", VENV])
        subprocess.check_call([python, "-m", "pip", "install", "--quiet", *PACKAGES])
    os.execv(python, [python, *sys.argv])

os.environ["OMP_NUM_THREADS"] = "1"
import h5py  # noqa: E402
import hdf5plugin  # noqa: E402
import numpy as np  # noqa: E402
import zfpy  # noqa: E402


def timed(runs, work):
    """(median seconds, last result)."""
    seconds = []
    for _ in range(runs):
        start = time.perf_counter()
        result = work()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds), result


def through_hdf5(volume, filters, runs):
    """(bytes stored, write seconds, read seconds, values) of one chunk in an HDF5 file in memory."""
    def write():
        image = io.BytesIO()
        with h5py.File(image, "w") as file:
            size = file.create_dataset("v", data=volume, chunks=volume.shape, **filters).id
            file.flush()
            size = size.get_storage_size()
        return image, size

    def read():
        # A fresh handle: an open dataset keeps its chunk.
        with h5py.File(image, "r") as file:
            return file["v"][()]

    write_seconds, (image, size) = timed(runs, write)
    read_seconds, rebuilt = timed(runs, read)
    return size, write_seconds, read_seconds, rebuilt


def hdf5_peer(filters):
    def run(volume, bound, runs):
        _, base_write, base_read, _ = through_hdf5(volume, {}, runs)
        size, write, read, rebuilt = through_hdf5(volume, filters(bound), runs)
        # Noise must not make a fast coder infinitely fast.
        return size, max(write - base_write, write / 4), max(read - base_read, read / 4), rebuilt

    return run


def zfp_peer(volume, bound, runs):
    seconds, stream = timed(runs, lambda: zfpy.compress_numpy(volume, tolerance=bound))
    back, rebuilt = timed(runs, lambda: zfpy.decompress_numpy(stream))
    return len(stream), seconds, back, rebuilt


PEERS = {
    "SZ3": hdf5_peer(lambda bound: dict(hdf5plugin.SZ3(absolute=bound))),
    "SPERR": hdf5_peer(lambda bound: dict(hdf5plugin.Sperr(absolute=bound))),
    "zfp": zfp_peer,
}


def ours(program, volume, bound, runs, setting, threads, folder):
    kind = {4: "f32", 8: "f64"}[volume.itemsize]
    source, stream, rebuilt = (os.path.join(folder, n) for n in ("in.raw", "x.bmg", "out." + kind))
    volume.tofile(source)
    raw = ["--dims", "x".join(map(str, volume.shape)), "--" + kind, "--abs", repr(bound), *setting]
    common = ["--device", "cpu", "--threads", str(threads), "--json"]
    bench = subprocess.run([program, "bench", source, "--runs", str(runs), *raw, *common], capture_output=True, check=True)
    bench = json.loads(bench.stdout)
    subprocess.run([program, "compress", source, "-o", stream, *raw, *common], capture_output=True, check=True)
    subprocess.run([program, "decompress", stream, "-o", rebuilt, *common], capture_output=True, check=True)
    again = np.fromfile(rebuilt, volume.dtype).reshape(volume.shape)
    seconds = [volume.nbytes / 1e9 / bench[k] for k in ("compress_gbps", "decompress_gbps")]
    return os.path.getsize(stream), *seconds, again


def load(argument):
    path, shape, kind, *big = argument.split(":")
    stored = np.fromfile(path, (">" if big else "<") + {"f32": "f4", "f64": "f8"}[kind])
    volume = stored.astype("<" + stored.dtype.str[1:]).reshape([int(n) for n in shape.split("x")])
    return os.path.basename(path), np.ascontiguousarray(volume)


def machine():
    with open("/proc/cpuinfo") as info:
        names = [line.split(":")[1].strip() for line in info if line.startswith("model name")]
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    return f"{names[0] if names else platform.processor()}, {os.cpu_count()} cores, load {load:.1f} at the start"


def row(label, volume, size, seconds, back, rebuilt, bound):
    miss = "" if float(np.max(np.abs(rebuilt.astype(np.float64) - volume))) <= bound * (1 + 1e-6) else "  BOUND MISSED"
    speed = volume.nbytes / 1e6
    print(f"    {label:34} {volume.nbytes / size:9.2f} {speed / seconds:9.1f} {speed / back:9.1f}{miss}", flush=True)
    return volume.nbytes / size


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("files", nargs="*", default=[SAMPLE])
    parser.add_argument("--rel", nargs="+", type=float, default=[1e-2, 1e-3, 1e-4, 1e-6])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--setting", action="append", help="options of ours, one column of the comparison each")
    args = parser.parse_args()
    settings = args.setting or ["--mode pyramid", "--mode pyramid --tile 16", "--mode hybrid"]
    program = os.path.abspath(args.program)
    ours_version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    print(f"{ours_version}; hdf5plugin {hdf5plugin.version}, zfpy {version('zfpy')}, numpy {np.__version__}; {machine()}")
    print(f"medians of {args.runs}; peers on 1 thread, ours on {args.threads}; ratio, compress MB/s, decompress MB/s\n")
    ratios = {}
    with tempfile.TemporaryDirectory() as folder:
        for argument in args.files:
            name, volume = load(argument)
            top = float(np.max(np.abs(volume[np.isfinite(volume)])))
            for rel in args.rel:
                bound = rel * top
                print(f"{name} {'x'.join(map(str, volume.shape))} {volume.dtype} REL {rel:g} = {bound:.6g}")
                results = {}
                for peer, run in PEERS.items():
                    if peer == "SPERR" and volume.ndim != 3:
                        continue
                    try:
                        results[peer] = row(peer, volume, *run(volume, bound, args.runs), bound)
                    except Exception as error:  # a peer that fails is reported and the comparison goes on
                        print(f"    {peer:34} failed: {error}")
                for setting in settings:
                    made = ours(program, volume, bound, args.runs, setting.split(), args.threads, folder)
                    results[setting] = row("ours " + setting, volume, *made, bound)
                for setting in settings:
                    for peer in ("SZ3", "SPERR", "zfp"):
                        if peer in results:
                            ratios.setdefault((setting, peer), []).append(results[setting] / results[peer])
    print("\ngeometric means of ours / peer (lowest)")
    for (setting, peer), values in ratios.items():
        mean = float(np.exp(np.mean(np.log(values))))
        print(f"    {setting:38} / {peer:6} {mean:6.3f} ({min(values):.3f})")


if __name__ == "__main__":
    main()
