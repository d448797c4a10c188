"""Starts short commands without pandas, whose import by pyarrow takes a fifth of `headwater sql`.

Only for commands, which own their process. Until `find_pandas`, pyarrow treats pandas objects as plain
sequences.
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
    """Make pyarrow's only lookup of pandas fail now. Does nothing if pandas is already imported."""
    if _PANDAS in sys.modules:
        return
    hidden = _PandasHidden()
    sys.meta_path.insert(0, hidden)
    try:
        pa.scalar(0)
    finally:
        sys.meta_path.remove(hidden)


def find_pandas() -> None:
    """Make pyarrow find pandas from now on; call it before pyarrow receives pandas objects."""
    pa.table({"a": [0]}).to_pandas()
