"""pyarrow, made to work beside store.connecting, which keeps pandas from being looked for again and again.

pyarrow looks for pandas once, when it first converts something, and takes the halted import for a module. So
it is made to look here, while the import is as it would be.
"""

from __future__ import annotations

import sys

import pyarrow
import pyarrow.parquet


def _look_for_pandas() -> None:
    halted = "pandas" in sys.modules and sys.modules["pandas"] is None
    if halted:
        del sys.modules["pandas"]
    try:
        pyarrow.array([])
    finally:
        if halted:
            sys.modules["pandas"] = None  # type: ignore[assignment]


_look_for_pandas()

__all__ = ["pyarrow"]
