"""NumPy's archives and bricks of values."""

import numpy as np

from .common import FILES, ORIGIN, expect, sample


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
