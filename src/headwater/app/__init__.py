"""The composition root: builds the objects of a run from the configuration."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headwater.app.application import App

__all__ = ["App"]


def __getattr__(name: str) -> Any:
    # Commands without Spark import modules of this package, too, and importing PySpark takes a second.
    if name == "App":
        from headwater.app.application import App

        return App
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
