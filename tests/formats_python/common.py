"""What is written where, and what must be read from it."""

import numpy as np

from . import WORK

FILES = WORK / "files"
RNG = np.random.default_rng(7)
# (file, variable or None for the only one) -> expected array (NaN where missing), units, whether geometry is checked
EXPECTED = {}
SPACING, ORIGIN = [2.0, 0.5, 0.25], [10.0, -3.0, 7.0]


def expect(path, array, variable=None, units=None, geometry=False):
    EXPECTED[(str(path), variable)] = (np.asarray(array), units, geometry)


def sample(dtype="f4", shape=(9, 10, 11)):
    if np.dtype(dtype).kind in "iu":
        info = np.iinfo(dtype)
        return RNG.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
    return RNG.normal(size=shape).astype(dtype)
