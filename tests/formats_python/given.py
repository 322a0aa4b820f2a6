"""Files named on the command line, read by the usual packages."""

import pathlib
import re

import netCDF4
import numpy as np
import zstandard

from .common import expect
from .vtk_files import read_vtk


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
