"""VTK's formats."""

import numpy as np
import vtk
from vtk.util.numpy_support import numpy_to_vtk, vtk_to_numpy

from .common import FILES, ORIGIN, SPACING, expect, sample


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
