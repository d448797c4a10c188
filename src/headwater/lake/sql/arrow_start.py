"""A short command without pandas: pyarrow imports it at its first conversion, a fifth of `headwater sql`.

For commands only, which own their process: until `find_pandas` pyarrow takes what is pandas' for any other
sequence.
"""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

import pyarrow as pa

_PANDAS = "pandas"


class _PandasHidden(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        if fullname == _PANDAS:
            raise ModuleNotFoundError(f"No module named {fullname!r} for now", name=fullname)
        return None


def start_without_pandas() -> None:
    """Have pyarrow look for pandas now, which it does once, and not find it. Nothing where it is imported."""
    if _PANDAS in sys.modules:
        return
    hidden = _PandasHidden()
    sys.meta_path.insert(0, hidden)
    try:
        pa.scalar(0)
    finally:
        sys.meta_path.remove(hidden)


def find_pandas() -> None:
    """Have pyarrow know pandas from now on: before anything hands it what is pandas'."""
    pa.table({"a": [0]}).to_pandas()
