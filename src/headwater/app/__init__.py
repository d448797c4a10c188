"""The composition root: configuration -> wired objects -> one run."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headwater.app.application import App

__all__ = ["App"]


def __getattr__(name: str) -> Any:
    # Commands that start no Spark import modules of this package, too, and PySpark takes a second to import.
    if name == "App":
        from headwater.app.application import App

        return App
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
