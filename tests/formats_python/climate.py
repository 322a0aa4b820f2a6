"""NetCDF, HDF5 and Zarr."""

import h5py
import netCDF4
import numcodecs
import numpy as np
import xarray
import zarr

from .common import FILES, ORIGIN, RNG, SPACING, expect, sample


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
