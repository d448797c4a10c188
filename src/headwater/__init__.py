"""headwater: keeps Apache Hudi tables equal to the objects in a bucket.

The public Python API is what `__all__` names, and everything else is internal:
docs/how-to/use-from-python.md.
"""

from typing import TYPE_CHECKING, Any

from headwater.errors import HeadwaterError
from headwater.version import __version__

if TYPE_CHECKING:
    from headwater.api import Changes, Lake, Listing, Quarantine, Recommendation, Rows, Table
    from headwater.api import open_lake as open  # noqa: A004 - as hw.open, like a file

__all__ = [
    "Changes",
    "HeadwaterError",
    "Lake",
    "Listing",
    "Quarantine",
    "Recommendation",
    "Rows",
    "Table",
    "__version__",
    "open",
]


def __getattr__(name: str) -> Any:
    # A command starts in a tenth of a second, without what the API needs.
    if name in __all__:
        from headwater import api

        return getattr(api, "open_lake" if name == "open" else name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
