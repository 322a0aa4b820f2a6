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
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORK = ROOT / "target" / "formats-check"
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

import h5py
import mrcfile
import netCDF4
import nibabel
import nrrd
import numpy as np
import SimpleITK
import tifffile
import vtk
import xarray
import zarr
import zstandard
from astropy.io import fits
from PIL import Image
from vtk.util.numpy_support import numpy_to_vtk, vtk_to_numpy

FILES = WORK / "files"
RNG = np.random.default_rng(7)
# (file, variable or None for the only one) -> expected array as float64, NaN where missing
EXPECTED = {}
SPACING, ORIGIN = [2.0, 0.5, 0.25], [10.0, -3.0, 7.0]


def expect(path, array, variable=None, units=None, geometry=False):
    EXPECTED[(str(path), variable)] = (np.asarray(array), units, geometry)


def sample(dtype="f4", shape=(9, 10, 11)):
    if np.dtype(dtype).kind in "iu":
        info = np.iinfo(dtype)
        return RNG.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
    return RNG.normal(size=shape).astype(dtype)


def write_netcdf():
    for kind in ["NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA", "NETCDF4", "NETCDF4_CLASSIC"]:
        path = FILES / f"{kind}.nc"
        with netCDF4.Dataset(path, "w", format=kind) as n:
            n.createDimension("time", None)
            for axis, (size, step, start) in zip("zyx", zip((5, 6, 7), SPACING, ORIGIN)):
                n.createDimension(axis, size)
                n.createVariable(axis, "f8", (axis,))[:] = start + step * np.arange(size)
            packed = n.createVariable("packed", "i2", ("time", "z", "y", "x"), fill_value=-32768)
            packed.scale_factor, packed.add_offset, packed.units = -0.01, 280.0, "K"
            packed[:] = np.ma.array(RNG.uniform(0, 500, (3, 5, 6, 7)), mask=RNG.random((3, 5, 6, 7)) < 0.2)
            expect(path, packed[2].filled(np.nan), "packed", "K")
            plain = n.createVariable("plain", "f4", ("z", "y", "x"), fill_value=1e20)
            plain[:] = np.ma.array(sample("f4", (5, 6, 7)), mask=RNG.random((5, 6, 7)) < 0.3)
            expect(path, plain[:].filled(np.nan), "plain", geometry=True)
            byte = n.createVariable("byte", "i1", ("y", "x"))
            byte.set_auto_maskandscale(False)
            byte._Unsigned = "true"
            raw = sample("i1", (6, 7))
            byte[:] = raw
            expect(path, raw.view("u1"), "byte")
            ranged = n.createVariable("ranged", "f8", ("z", "x"))
            ranged.valid_range = np.array([-1.0, 1.0])
            ranged[:] = sample("f8", (5, 7))
            expect(path, ranged[:].filled(np.nan), "ranged")


def write_hdf5():
    path = FILES / "tree.h5"
    with h5py.File(path, "w", userblock_size=512) as h:
        for name, array, options in [
            ("a/b/big_endian", sample(">f4"), {}),
            ("a/chunked", sample("u2", (20, 30, 40)), dict(chunks=(7, 8, 9), compression="gzip", shuffle=True)),
            ("a/checked", sample("f8", (20, 30)), dict(chunks=(7, 30), fletcher32=True)),
            ("line", sample("i4", (50,)), {}),
        ]:
            h.create_dataset(name, data=array, **options)
            expect(path, array, name)
        h["text"], h["scalar"] = "abc", 3.0
        h["records"] = np.zeros(3, dtype=[("a", "f4"), ("b", "i4")])


def write_zarr():
    compressors = {
        "none": None,
        "gzip": zarr.codecs.GzipCodec(),
        "zstd": zarr.codecs.ZstdCodec(),
        "blosc": zarr.codecs.BloscCodec(cname="lz4", shuffle="shuffle"),
        "bits": zarr.codecs.BloscCodec(cname="zstd", shuffle="bitshuffle"),
    }
    for name, compressor in compressors.items():
        for dtype in ["f4", "i2"]:
            path, array = FILES / f"v3_{name}_{dtype}.zarr", np.cumsum(sample(dtype, (20, 21, 22)) // 256, axis=0).astype(dtype)
            z = zarr.create_array(path, shape=array.shape, chunks=(8, 9, 10), dtype=dtype, compressors=compressor)
            z[:] = array
            expect(path, array)
    for name, options in {
        "sharded": dict(chunks=(4, 5, 6), shards=(8, 10, 12)),
        "turned": dict(chunks=(8, 9, 10), filters=zarr.codecs.TransposeCodec(order=(2, 0, 1))),
        "big": dict(chunks=(8, 9, 10), serializer=zarr.codecs.BytesCodec(endian="big")),
    }.items():
        path, array = FILES / f"v3_{name}.zarr", sample("f8", (20, 21, 22))
        z = zarr.create_array(path, shape=array.shape, dtype="f8", **options)
        z[:10] = array[:10]
        array[10:] = 0
        expect(path, array)
    import numcodecs

    for name, compressor in {"blosc": numcodecs.Blosc(cname="lz4"), "zlib": numcodecs.Zlib(), "none": None}.items():
        for order in "CF":
            path, array = FILES / f"v2_{name}_{order}.zarr", sample(">f4", (4, 20, 21, 22))
            z = zarr.create_array(
                path, shape=array.shape, chunks=(2, 8, 9, 10), dtype=">f4", compressors=compressor, order=order, zarr_format=2
            )
            z[:] = array
            expect(path, array[3])
    for version in [2, 3]:
        path, array = FILES / f"xarray_{version}.zarr", sample("f4", (5, 6, 7))
        array[RNG.random(array.shape) < 0.2] = np.nan
        axes = {a: o + s * np.arange(n) for a, o, s, n in zip("zyx", ORIGIN, SPACING, array.shape)}
        data = xarray.Dataset({"t": (("z", "y", "x"), array, {"units": "K"})}, axes)
        data.t.encoding["_FillValue"] = np.float32(-999.0)
        data.to_zarr(path, zarr_format=version, consolidated=False)
        expect(path, array, "t", "K", geometry=True)


def write_images():
    array = sample("i2")
    image = SimpleITK.GetImageFromArray(array)
    image.SetSpacing(SPACING[::-1])
    image.SetOrigin(ORIGIN[::-1])
    for name in ["a.mha", "a.mhd", "a.nrrd", "a.nhdr", "a.nii", "a.nii.gz"]:
        SimpleITK.WriteImage(image, str(FILES / name))
        # ITK's NIfTI turns x and y to its own orientation; nibabel's below checks the affine.
        expect(FILES / name, array, geometry="nii" not in name)
    SimpleITK.WriteImage(image, str(FILES / "zipped.mha"), useCompression=True)
    SimpleITK.WriteImage(image, str(FILES / "zipped.nrrd"), useCompression=True)
    expect(FILES / "zipped.mha", array, geometry=True)
    expect(FILES / "zipped.nrrd", array, geometry=True)
    for dtype, name in [("u1", "u1"), ("f4", "f4"), (">f8", "big")]:
        array = sample(dtype)
        nrrd.write(str(FILES / f"{name}_text.nrrd"), array[:3, :3, :3], {"encoding": "ascii"}, index_order="C")
        expect(FILES / f"{name}_text.nrrd", array[:3, :3, :3])
        header = nibabel.Nifti1Header(endianness=">" if name == "big" else "<")
        header.set_data_dtype(dtype)
        affine = np.diag([*SPACING[::-1], 1.0])
        affine[:3, 3] = ORIGIN[::-1]
        nibabel.save(nibabel.Nifti1Image(array.T, affine, header), FILES / f"{name}.nii")
        expect(FILES / f"{name}.nii", array, geometry=True)
    array = sample("i2", (3, 5, 6, 7))
    scaled = nibabel.Nifti2Image(array.T, np.eye(4))
    scaled.header.set_slope_inter(0.5, -3.0)
    nibabel.save(scaled, FILES / "scaled.nii")
    expect(FILES / "scaled.nii", np.asarray(nibabel.load(FILES / "scaled.nii").dataobj).T[2])
    for mode, dtype in [("f4", "f4"), ("i2", "i2"), ("u2", "u2"), ("i1", "i1")]:
        array = sample(dtype)
        with mrcfile.new(FILES / f"{mode}.mrc", overwrite=True) as m:
            m.set_data(array)
            m.voxel_size = 2.0
        expect(FILES / f"{mode}.mrc", array)
    array = sample("f4")
    cube = fits.PrimaryHDU(sample("u2", (4, 5)))
    cube.header["BUNIT"] = "Jy"
    second = fits.ImageHDU(array, name="SECOND")
    blank = fits.ImageHDU(sample("i4", (3, 4)), name="SCALED")
    blank.header["BSCALE"], blank.header["BZERO"] = 0.25, 3.0
    fits.HDUList([cube, second, blank]).writeto(FILES / "a.fits", overwrite=True)
    with fits.open(FILES / "a.fits") as f:
        expect(FILES / "a.fits", f[0].data, "a", "Jy")
        expect(FILES / "a.fits", f[1].data, "SECOND")
        expect(FILES / "a.fits", f[2].data, "SCALED")


def write_slices():
    for dtype in ["u1", "u2", "i2", "i4", "f4", "f8"]:
        for name, options in [("plain", {}), ("deflate", dict(compression="deflate", predictor=True)), ("lzw", dict(compression="lzw"))]:
            if name != "plain" and dtype == "f8":
                continue
            path, array = FILES / f"{name}_{dtype}.tif", sample(dtype)
            tifffile.imwrite(path, array, photometric="minisblack", **options)
            expect(path, array)
    array = sample("u2")
    tifffile.imwrite(FILES / "ij.tif", array, imagej=True, resolution=(4.0, 2.0), metadata={"spacing": 2.0})
    expect(FILES / "ij.tif", array)
    tifffile.imwrite(FILES / "big.tif", array, bigtiff=True, byteorder=">", tile=(16, 16), photometric="minisblack")
    expect(FILES / "big.tif", array)
    for kind in ["png", "tif"]:
        folder = FILES / f"slices_{kind}"
        folder.mkdir()
        for z, plane in enumerate(array):
            Image.fromarray(plane).save(folder / f"s{z}.{kind}")
        expect(folder, array)
    colour = sample("u1", (4, 5, 3))
    Image.fromarray(colour).save(FILES / "colour.png")
    expect(FILES / "colour.png", colour[..., 1], "colour.1")


def write_vtk():
    def fill(grid):
        for name, values in VTK_ARRAYS.items():
            flat = values.reshape(-1, values.shape[3]) if values.ndim == 4 else values.ravel()
            a = numpy_to_vtk(np.ascontiguousarray(flat), deep=True)
            a.SetName(name)
            grid.GetPointData().AddArray(a)

    VTK_ARRAYS = {"scalar": sample("f4"), "count": sample("i2"), "vector": sample("f8", (9, 10, 11, 3))}
    image = vtk.vtkImageData()
    image.SetDimensions(11, 10, 9)
    image.SetSpacing(SPACING[::-1])
    image.SetOrigin(ORIGIN[::-1])
    fill(image)
    grid = vtk.vtkRectilinearGrid()
    grid.SetDimensions(11, 10, 9)
    for set_axis, n, s, o in zip(
        [grid.SetZCoordinates, grid.SetYCoordinates, grid.SetXCoordinates], (9, 10, 11), SPACING, ORIGIN
    ):
        set_axis(numpy_to_vtk(o + s * np.arange(n), deep=True))
    fill(grid)
    for data, writer_type, ending in [(image, vtk.vtkXMLImageDataWriter, "vti"), (grid, vtk.vtkXMLRectilinearGridWriter, "vtr")]:
        for mode, set_mode in [("ascii", "SetDataModeToAscii"), ("binary", "SetDataModeToBinary"), ("appended", "SetDataModeToAppended")]:
            for compressor in ["None", "ZLib", "LZ4"]:
                for encode in [0, 1]:
                    for header in [32, 64]:
                        path = FILES / f"{mode}_{compressor}_{encode}_{header}.{ending}"
                        w = writer_type()
                        w.SetInputData(data)
                        w.SetFileName(str(path))
                        getattr(w, set_mode)()
                        w.SetEncodeAppendedData(encode)
                        w.SetHeaderType(header)
                        w.SetCompressorType({"None": 0, "ZLib": 1, "LZ4": 2}[compressor])
                        w.SetBlockSize(4096)
                        if header == 64:
                            w.SetByteOrderToBigEndian()
                        w.Write()
                        expect(path, VTK_ARRAYS["scalar"], "scalar", geometry=True)
                        expect(path, VTK_ARRAYS["count"], "count")
                        expect(path, VTK_ARRAYS["vector"][..., 2], "vector.2")
    for data, writer_type, name in [(image, vtk.vtkStructuredPointsWriter, "points"), (grid, vtk.vtkRectilinearGridWriter, "grid")]:
        for binary in [0, 1]:
            path = FILES / f"{name}_{binary}.vtk"
            w = writer_type()
            w.SetInputData(data)
            w.SetFileName(str(path))
            w.SetFileType(1 + binary)
            w.Write()
            # Text keeps six digits of a float and eleven of a double.
            def kept(values, digits):
                return values if binary else np.vectorize(lambda v: float(f"{v:.{digits}g}"))(values)

            expect(path, kept(VTK_ARRAYS["scalar"], 6).astype("f4"), "scalar", geometry=True)
            expect(path, VTK_ARRAYS["count"], "count")
            expect(path, kept(VTK_ARRAYS["vector"][..., 2], 11), "vector.2")


def write_arrays():
    a, b = sample("f8"), np.asfortranarray(sample("u2", (4, 5, 6)))
    np.savez(FILES / "plain.npz", a=a, b=b, text=np.array(["x"]))
    np.savez_compressed(FILES / "zipped.npz", a=a, b=b)
    for name in ["plain.npz", "zipped.npz"]:
        expect(FILES / name, a, "a")
        expect(FILES / name, b, "b")
    a = sample("f4")
    a.tofile(FILES / "brick.dat")
    (FILES / "brick.bov").write_text(
        "DATA_FILE: brick.dat\nDATA_SIZE: 11 10 9\nDATA_FORMAT: FLOAT\nVARIABLE: rho\nDATA_ENDIAN: LITTLE\n"
        f"BRICK_ORIGIN: {' '.join(map(str, ORIGIN[::-1]))}\nBRICK_SIZE: {0.25 * 10} {0.5 * 9} {2.0 * 8}\n"
    )
    expect(FILES / "brick.bov", a, geometry=True)


def read_vtk(path):
    """All point arrays of a .vti or .vtr file."""
    reader = vtk.vtkXMLImageDataReader() if path.endswith("vti") else vtk.vtkXMLRectilinearGridReader()
    reader.SetFileName(path)
    reader.Update()
    out = reader.GetOutput()
    shape = out.GetDimensions()[::-1]
    for i in range(out.GetPointData().GetNumberOfArrays()):
        a = out.GetPointData().GetArray(i)
        values = vtk_to_numpy(a)
        for c in range(a.GetNumberOfComponents()):
            name = a.GetName() if values.ndim == 1 else f"{a.GetName()}.{c}"
            yield name, (values if values.ndim == 1 else values[:, c]).reshape(shape)
    reader = None


def expect_given(path):
    """A file named on the command line, read by the usual package."""
    inner, packed = (path[:-4], True) if path.endswith(".zst") else (path, False)
    content = pathlib.Path(path).read_bytes()
    content = zstandard.ZstdDecompressor().decompressobj().decompress(content) if packed else content
    if dims := re.search(r"_(\d+(?:x\d+)+)[._]", inner):
        order = ">" if "bigendian" in inner else "<"
        shape = [int(n) for n in dims[1].split("x")]
        values = np.frombuffer(content, f"{order}f{int(inner[-2:]) // 8}").reshape([-1] + shape[-3:])
        expect(path, values[-1])
        return
    if path.endswith((".vti", ".vtr")):
        for name, values in read_vtk(path):
            expect(path, values, name)
        return
    with netCDF4.Dataset(inner, memory=content) as n:
        bounds = {getattr(v, "bounds", None) for v in n.variables.values()}
        for name, v in n.variables.items():
            if v.ndim and v.dtype.kind in "iuf" and v.dimensions != (name,) and name not in bounds:
                values = v[:] if v.ndim <= 3 else v[:].reshape((-1,) + v.shape[-3:])[-1]
                kept = np.asarray(np.ma.getdata(values))
                mask = np.ma.getmaskarray(values)
                expect(path, np.where(mask, np.nan, kept) if mask.any() else kept, name, getattr(v, "units", None))


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


def check_written():
    """Files that blockmgard wrote from `written/source.npy`, read by Python."""
    out = FILES / "written"
    source = np.load(out / "source.npy")
    bits = source.view("u4")
    failures = 0

    def same(name, values, spacing=None, origin=None, dtype="f4"):
        nonlocal failures
        expected = {"f4": bits, "u1": mask, "f8": taus}[dtype]
        got = np.ascontiguousarray(values)
        got = got.view("u4") if dtype == "f4" else got
        ok = np.array_equal(got, expected)
        ok &= spacing is None or np.allclose(spacing, SPACING if dtype != "f8" else np.multiply(SPACING, 8))
        shift = np.multiply(SPACING, 3.5 if dtype == "f8" else 0)
        ok &= origin is None or np.allclose(origin, ORIGIN + shift)
        if not ok:
            failures += 1
            print(f"FAIL written {name}: {got.shape} {got.dtype} spacing {spacing} origin {origin}")

    mask = (np.arange(source.size) % 3 == 0).astype("u1").reshape(source.shape)
    taus = np.where(np.arange(2 * 2 * 2) % 2 == 0, 0.5, np.inf).reshape(2, 2, 2)
    same("raw", np.fromfile(out / "a.raw", "<f4").reshape(source.shape))
    same("npy", np.load(out / "a.npy"))
    values, header = nrrd.read(str(out / "a.nrrd"), index_order="C")
    same("nrrd", values, np.diag(header["space directions"])[::-1], header["space origin"][::-1])
    image = SimpleITK.ReadImage(str(out / "a.nrrd"))
    same("nrrd in ITK", SimpleITK.GetArrayFromImage(image), image.GetSpacing()[::-1], image.GetOrigin()[::-1])
    image = nibabel.load(out / "a.nii")
    same("nifti", np.asarray(image.dataobj).T, np.diag(image.affine)[2::-1], image.affine[2::-1, 3])
    for file in ["a.vti", "a.vtr", "uneven.vtr"]:
        [(name, values)] = read_vtk(str(out / file))
        same(file, values.astype("f4"))
        failures += name != "temp"
    grid = vtk.vtkXMLRectilinearGridReader()
    grid.SetFileName(str(out / "uneven.vtr"))
    grid.Update()
    heights = np.arange(source.shape[0], dtype="f8") ** 2
    failures += not np.array_equal(vtk_to_numpy(grid.GetOutput().GetZCoordinates()), heights)
    with netCDF4.Dataset(out / "uneven.nc") as n:
        v = n["temp"]
        v.set_auto_mask(False)
        same("uneven netcdf", v[:])
        failures += not np.array_equal(n["level"][:], heights)
        failures += [n[d].units for d in v.dimensions] != ["m", "degrees_north", "degrees_east"]
        failures += list(v.valid_range) != [-5.0, 5.0]
    with netCDF4.Dataset(out / "a.nc") as n:
        v = n["temp"]
        v.set_auto_mask(False)
        axes = [n[d][:] for d in v.dimensions]
        same("netcdf", v[:], [a[1] - a[0] for a in axes], [a[0] for a in axes])
        failures += (v.units, v.dimensions, float(v._FillValue)) != ("K", ("level", "lat", "lon"), -999.0)
    values, header = nrrd.read(str(out / "mask.nrrd"), index_order="C")
    same("mask nrrd", values, np.diag(header["space directions"])[::-1], header["space origin"][::-1], dtype="u1")
    same("mask npy", np.load(out / "mask.npy"), dtype="u1")
    values, header = nrrd.read(str(out / "map.nrrd"), index_order="C")
    same("map nrrd", values, np.diag(header["space directions"])[::-1], header["space origin"][::-1], dtype="f8")
    same("map npy", np.load(out / "map.npy"), dtype="f8")
    print("written files read by Python: " + ("all right" if not failures else f"{failures} failures"))
    return failures


def main():
    shutil.rmtree(FILES, ignore_errors=True)
    (FILES / "written").mkdir(parents=True)
    for write in [write_netcdf, write_hdf5, write_zarr, write_images, write_slices, write_vtk, write_arrays]:
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
