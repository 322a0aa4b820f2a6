#!/usr/bin/env python3
"""Compares a rebuilt volume with its original, exactly, and without any of the codec's own code.

    check_bound.py ORIGINAL REBUILT --shape 91x91x91 --type f32 --tau 0.01
    check_bound.py ORIGINAL REBUILT --shape 91x91x91 --type f64 --map map.npy

Raw little-endian files, slowest axis first. A map (`blockmgard roi map`) gives one absolute tolerance to each 8^3 block.
Exit status 0 when every value keeps its tolerance.
"""
import argparse
import sys

import numpy as np


def difference(a, b):
    """|a - b| as high + low without any rounding (the error of a floating-point difference is itself a float)."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    with np.errstate(all="ignore"):
        high = a - b
        back = high - a
        low = (a - (high - back)) - (b + back)
    flip = np.where(high < 0, -1.0, 1.0)
    return high * flip, low * flip


def voxel_tolerances(blocks, shape):
    """One tolerance per voxel from one per block."""
    for axis, extent in enumerate(shape):
        blocks = np.repeat(blocks, 8, axis=axis)[(slice(None),) * axis + (slice(0, extent),)]
    return blocks


def violations(original, rebuilt, tau):
    """Boolean array of broken promises: beyond tau, or not bit for bit where that is due (tau 0, NaN, infinities)."""
    word = {4: np.uint32, 8: np.uint64}[original.itemsize]
    differs = original.view(word) != rebuilt.view(word)
    high, low = difference(original, rebuilt)
    with np.errstate(invalid="ignore"):
        within = (high < tau) | ((high == tau) & (low <= 0))
    exact = ~np.isfinite(original) | (tau == 0)
    # A finite value never comes back as NaN or infinity, however loose the tolerance.
    return np.where(exact, differs, ~within | ~np.isfinite(rebuilt))


def check(original, rebuilt, tau):
    """(number of violations, largest error / tau over finite values)."""
    tau = np.broadcast_to(np.asarray(tau, dtype=np.float64), original.shape)
    broken = violations(original, rebuilt, tau)
    high, _ = difference(original, rebuilt)
    with np.errstate(all="ignore"):
        ratio = np.where(np.isfinite(original) & (tau > 0), high / tau, 0.0)
    return int(broken.sum()), float(np.max(ratio))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("original")
    parser.add_argument("rebuilt")
    parser.add_argument("--shape", required=True, help="slowest first, such as 91x91x91")
    parser.add_argument("--type", required=True, choices=["f32", "f64"])
    bound = parser.add_mutually_exclusive_group(required=True)
    bound.add_argument("--tau", type=float)
    bound.add_argument("--map", help=".npy with one tolerance per block")
    args = parser.parse_args()
    shape = tuple(map(int, args.shape.split("x")))
    dtype = {"f32": "<f4", "f64": "<f8"}[args.type]
    volumes = [np.fromfile(path, dtype).reshape(shape) for path in (args.original, args.rebuilt)]
    tau = args.tau if args.map is None else voxel_tolerances(np.load(args.map), shape)
    count, worst = check(*volumes, tau)
    print(f"{count} violations in {volumes[0].size} values, largest error / tau {worst:.6f}")
    sys.exit(1 if count else 0)


if __name__ == "__main__":
    main()
