#!/usr/bin/env python3
"""The whole path through the program, judged by check_bound.py: every mode, many tolerances, awkward volumes.

    exact.py PROGRAM [--data FILE:SHAPE:TYPE[:big]] ... [--only-data]

A file of four axes is a series: every step of it is judged.

For each case: no value beyond its tolerance, NaN and infinities bit for bit, and a stream that is at most 1 % (plus
4 KiB) larger than the values. The last line is `N passed, N failed`.
"""
import argparse
import json
import os
import subprocess
import tempfile

import numpy as np
from check_bound import check, voxel_tolerances

MODES = [
    ["--mode", "pyramid"],
    ["--mode", "pyramid", "--tile", "8", "--points", "2"],
    ["--mode", "pyramid", "--tile", "32", "--points", "6"],
    ["--fast"],
    ["--mode", "pyramid", "--tile", "16", "--points", "6", "--coder", "planes"],
    ["--coder", "groups"],
    ["--tile", "16", "--coder", "groups", "--order", "axis"],
    ["--tile", "8", "--points", "2", "--order", "axis"],
    ["--mode", "hybrid"],
    ["--mode", "hybrid", "--basis", "projection", "-L", "2", "-M", "1"],
    ["--mode", "hybrid", "-L", "0", "-M", "3", "--budget", "uniform"],
    ["--mode", "hybrid", "--entropy", "class"],
]
TOLERANCES = [1e-1, 1e-3, 1e-6, 1e-12, 0.0]

SPEC = """
background = "loose"
tier = [
  { name = "loose", tolerance = { rel = 1e-1 } },
  { name = "strict", tolerance = { rel = 1e-5 } },
  { name = "exact", tolerance = "lossless" },
  { name = "none", tolerance = "ignore" },
]
[[region]]
tier = "strict"
shape = { percentile = { min = 80.0 } }
[[region]]
tier = "exact"
shape = { percentile = { min = 99.0 } }
"""


def synthetic(dtype):
    """Name -> volume."""
    random = np.random.default_rng(7)
    tiny = np.finfo(dtype).smallest_subnormal
    shape = (19, 21, 35)
    z, y, x = np.meshgrid(*(np.linspace(0, 3, n) for n in shape), indexing="ij")
    wave = (np.sin(3 * x) * np.cos(2 * y) + z).astype(dtype)

    def with_values(at, values):
        volume = wave.copy()
        volume.reshape(-1)[at] = values
        return volume

    bits = random.integers(0, 256, wave.nbytes, dtype=np.uint8).view(dtype).reshape(shape)
    holes = with_values(random.random(wave.size) < 0.3, np.nan)
    return {
        "wave": wave,
        "noise": random.standard_normal(shape).astype(dtype),
        "constant": np.full(shape, 3.25, dtype),
        "zeros": np.zeros(shape, dtype),
        "negative zeros": np.full(shape, -0.0, dtype),
        "one NaN": with_values([4711], np.nan),
        "all NaN": np.full(shape, np.nan, dtype),
        "infinities": with_values([5, 600, 601], [np.inf, -np.inf, np.inf]),
        "holes": holes,
        "denormals": (random.integers(-1000, 1000, shape) * tiny).astype(dtype),
        "near the largest": (wave / wave.max() * np.finfo(dtype).max).astype(dtype),
        "1e38": (wave * 1e37).astype(dtype),
        "steps": np.round(wave * 4).astype(dtype),
        "random bits": bits,
        "single voxel": np.array([2.5], dtype).reshape(1, 1, 1),
        "7x1x9": wave[:7, :1, :9].copy(),
        "plane": wave[3].copy(),
        "line": wave.reshape(-1)[:5000].copy(),
    }


def given(argument):
    path, shape, dtype, *big = argument.split(":")
    dtype = {"f32": "f4", "f64": "f8"}[dtype]
    stored = np.fromfile(path, (">" if big else "<") + dtype)
    return os.path.basename(path), stored.astype("<" + dtype).reshape([int(n) for n in shape.split("x")])


class Runner:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.passed = self.failed = 0

    def path(self, name):
        return os.path.join(self.folder, name)

    def call(self, *arguments):
        done = subprocess.run([self.program, *arguments, "--json"], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{' '.join(arguments)}: exit {done.returncode}: {done.stderr.strip()}")
        return json.loads(done.stdout)

    def judge(self, label, volume, mode, bound):
        """One case: compress, decompress, compare."""
        kind = {4: "f32", 8: "f64"}[volume.itemsize]
        source, stream, rebuilt = (self.path(n) for n in ("in.raw", "x.bmg", "out." + kind))
        volume.tofile(source)
        shape = "x".join(map(str, volume.shape))
        raw = ["--dims", shape, "--" + kind]
        try:
            made = self.call("compress", source, "-o", stream, *raw, *mode, *bound, "--device", "cpu")
            self.call("decompress", stream, "-o", rebuilt, "--device", "cpu")
            tau = made["tiers"][0]["abs"]
            if bound[0] == "--roi":
                self.call("roi", "map", source, "-o", self.path("map.npy"), *raw, *bound)
                tau = voxel_tolerances(np.load(self.path("map.npy")), volume.shape)
            again = np.fromfile(rebuilt, volume.dtype).reshape(volume.shape)
            broken, worst = check(volume, again, tau)
            extra = os.path.getsize(stream) - (volume.nbytes * 1.01 + 4096)
            fault = f"{broken} violations, worst {worst}" if broken else "stream too large" if extra > 0 else ""
        except (RuntimeError, ValueError) as error:
            fault = str(error)
        self.passed, self.failed = self.passed + (not fault), self.failed + bool(fault)
        if fault:
            print(f"FAILED {label} {kind} {' '.join(mode + bound)}: {fault}", flush=True)

    def series(self, label, volumes):
        """A file of four axes: all steps in one call, one stream each."""
        source, stream = self.path("in.raw"), self.path("s.bmg")
        kind = {4: "f32", 8: "f64"}[volumes.itemsize]
        volumes.tofile(source)
        raw = ["--dims", "x".join(map(str, volumes.shape)), "--" + kind]
        for mode in MODES:
            for tolerance in TOLERANCES:
                fault = ""
                try:
                    made = self.call("compress", source, "-o", stream, "--all", *raw, *mode, "--rel", repr(tolerance))
                    for step, volume in enumerate(volumes):
                        rebuilt = self.path("out." + kind)
                        self.call("decompress", self.path(f"s_{step:04}.bmg"), "-o", rebuilt)
                        again = np.fromfile(rebuilt, volume.dtype).reshape(volume.shape)
                        broken, worst = check(volume, again, made[step]["tiers"][0]["abs"])
                        fault = fault or (f"step {step}: {broken} violations, worst {worst}" if broken else "")
                except (RuntimeError, ValueError) as error:
                    fault = str(error)
                self.passed, self.failed = self.passed + (not fault), self.failed + bool(fault)
                if fault:
                    print(f"FAILED {label} {kind} {' '.join(mode)} rel {tolerance}: {fault}", flush=True)

    def all_bounds(self, label, volume):
        for mode in MODES:
            for tolerance in TOLERANCES:
                self.judge(label, volume, mode, ["--abs" if tolerance == 0 else "--rel", repr(tolerance)])
            self.judge(label, volume, mode, ["--roi", self.path("roi.toml")])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--data", action="append", default=[], help="FILE:SHAPE:f32|f64[:big]")
    parser.add_argument("--only-data", action="store_true", help="leave the synthetic volumes out")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(args.program, folder)
        with open(runner.path("roi.toml"), "w") as spec:
            spec.write(SPEC)
        for dtype in () if args.only_data else (np.float32, np.float64):
            for label, volume in synthetic(dtype).items():
                runner.all_bounds(label, volume)
        for argument in args.data:
            name, volume = given(argument)
            if volume.ndim == 4:
                runner.series(name, volume)
            else:
                runner.all_bounds(name, volume)
        if not args.only_data:
            wave = synthetic(np.float32)["wave"]
            runner.series("series", np.stack([wave, wave * 2, -wave]))
    print(f"{runner.passed} passed, {runner.failed} failed")
    return 1 if runner.failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
