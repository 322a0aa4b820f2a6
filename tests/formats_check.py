#!/usr/bin/env python3
"""Compares what blockmgard reads and writes with Python's own readers and writers.

    python3 tests/formats_check.py [FILE ...]

Makes a virtual environment under target/formats-check, writes a small file in every format with the format's usual
Python package, lets `tests/formats_dump.rs` read them all, and compares values, missing masks, units and geometry. Then
the other way round: files that blockmgard wrote are read by Python. FILEs (NetCDF, VTK, raw ones with their shape in the name; also as .zst) are compared as well.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys

from formats_python import ROOT, WORK

PACKAGES = "numpy xarray netCDF4 h5py vtk nibabel pynrrd SimpleITK tifffile mrcfile astropy zarr numcodecs pillow imagecodecs zstandard".split()


def in_venv():
    """Runs this script again inside the environment, which is made on first use."""
    python = WORK / "venv" / "bin" / "python"
    if not python.exists():
        WORK.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, "-m", "venv", WORK / "venv"], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
    os.execv(python, [str(python), __file__, "--in-venv", *sys.argv[1:]])


if "--in-venv" not in sys.argv:
    in_venv()

import numpy as np

from formats_python import arrays, climate, images, vtk_files
from formats_python.common import EXPECTED, FILES, ORIGIN, SPACING, sample
from formats_python.given import expect_given
from formats_python.written import check_written


def masked(npy, missing, valid):
    values = np.load(npy).astype("f8")
    if valid:
        values[(values < valid[0]) | (values > valid[1])] = np.nan
    for m in missing:
        values[values == m] = np.nan
    return values


def compare():
    index = {f["file"]: f for f in json.loads((FILES / "index.json").read_text())}
    failures = 0
    for (path, variable), (array, units, geometry) in EXPECTED.items():
        file = index[path]
        what = f"{pathlib.Path(path).name}:{variable or ''}"
        found = [v for v in file.get("variables", []) if variable in (None, v["info"]["name"])]
        if not found or "npy" not in found[-1]:
            problem = file.get("error") or (found[-1]["error"] if found else "no such variable")
        else:
            read, info = found[-1], found[-1]["info"]
            mine, wanted = masked(FILES / read["npy"], read["missing_values"], info.get("valid")), array.astype("f8")
            close = mine.shape == wanted.shape and np.array_equal(mine, wanted, equal_nan=True)
            problem = "" if close else f"values differ: {mine.shape} {wanted.shape}"
            if close is False and mine.shape == wanted.shape:
                problem += f", up to {np.nanmax(np.abs(mine - wanted))}, {(np.isnan(mine) != np.isnan(wanted)).sum()} missing"
            if units and info["units"] != units:
                problem += f" units {info['units']}"
            if geometry and not (np.allclose(info["spacing"], SPACING) and np.allclose(info["origin"], ORIGIN)):
                problem += f" spacing {info['spacing']} origin {info['origin']}"
        if problem:
            failures += 1
            print(f"FAIL {what}: {problem}")
    print(f"{len(EXPECTED) - failures} of {len(EXPECTED)} variables read as Python reads them")
    return failures


def main():
    shutil.rmtree(FILES, ignore_errors=True)
    (FILES / "written").mkdir(parents=True)
    writers = [
        climate.write_netcdf,
        climate.write_hdf5,
        climate.write_zarr,
        images.write_images,
        images.write_slices,
        vtk_files.write_vtk,
        arrays.write_arrays,
    ]
    for write in writers:
        write()
    for path in sys.argv[1:]:
        if path != "--in-venv":
            expect_given(os.path.abspath(path))
    source = sample("f4")
    source[0, 0, :4] = [-999.0, np.nan, np.inf, -0.0]
    np.save(FILES / "written" / "source.npy", source)
    (FILES / "files.txt").write_text("\n".join(dict.fromkeys(path for path, _ in EXPECTED)))
    command = ["cargo", "test", "--release", "-p", "blockmgard", *os.environ.get("CARGO_OPTIONS", "").split(), "--test", "formats_dump", "--", "--ignored"]
    subprocess.run(command, cwd=ROOT, env={**os.environ, "BLOCKMGARD_CHECK": str(FILES)}, check=True)
    sys.exit(1 if compare() + check_written() else 0)


main()
