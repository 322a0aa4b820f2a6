"""Files that blockmgard wrote, read by Python."""

import nibabel
import netCDF4
import nrrd
import numpy as np
import SimpleITK
import vtk
from vtk.util.numpy_support import vtk_to_numpy

from .common import FILES, ORIGIN, SPACING
from .vtk_files import read_vtk


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
