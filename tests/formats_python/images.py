"""Medical and microscopy volumes, FITS, and stacks of slices."""

import mrcfile
import nibabel
import nrrd
import numpy as np
import SimpleITK
import tifffile
from astropy.io import fits
from PIL import Image

from .common import FILES, ORIGIN, SPACING, expect, sample


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
