"""Python's side of `formats_check.py`, by kind of file."""

import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WORK = ROOT / "target" / "formats-check"
