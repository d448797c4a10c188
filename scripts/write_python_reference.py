"""Writes docs/reference/python-api.md from the docstrings of what `headwater` exports."""

import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import fields
from functools import cached_property
from pathlib import Path

import headwater
from headwater.app.components import RunReport, TableTotals
from headwater.app.erasure.report import ErasureReport, Remaining, Structure
from headwater.app.objects.explain import Explanation
from headwater.app.objects.redrive import RetryReport
from headwater.app.objects.verify import TableReport, VerifyReport
from headwater.app.status import Status, TableStatus
from headwater.errors import RunFailedError
from headwater.ingest.planning.verification import TableVerification
from headwater.lake.inspection import Action
from headwater.lake.queries.changes import Change
from headwater.lake.service_result import ServiceResult
from headwater.lake.services.cleaning import CleanResult
from headwater.lake.services.deletion import Deletion
from headwater.lake.writes import Written
from headwater.rag.retrieval.query import FoundRow, SearchResult

PAGE = Path(__file__).resolve().parent.parent / "docs/reference/python-api.md"
INTRODUCTION = """# Python API

Generated from the docstrings. How to use it: [Use headwater from Python](../how-to/use-from-python.md).
"""


RETURNED = (
    *(RunReport, TableTotals, Status, TableStatus, VerifyReport, TableReport, TableVerification, Explanation),
    *(Action, Change, Written, Deletion, ServiceResult, CleanResult, RetryReport, SearchResult, FoundRow),
    *(ErasureReport, Structure, Remaining),
)
MODULES = re.compile(r"\b(?!p[dla]\.)(?:[a-z_]+\.)+(?=[A-Z])")
QUOTED = re.compile(r"(: |-> )'([^']*)'")
SPECIAL = {"__getitem__", "__iter__", "__len__", "__contains__"}


def write() -> str:
    """The whole page."""
    lines = [*_iter_lines(), "## Returned objects\n", "They are created by headwater only.\n"]
    for found in RETURNED:
        lines += [f"### `{found.__name__}`\n", f"{_clean(found)}", *_list_fields(found)]
    lines += ["### `RunFailedError`\n", _clean(RunFailedError)]
    return "\n".join((INTRODUCTION, *lines)).rstrip() + "\n"


def _iter_lines() -> Iterator[str]:
    for name in headwater.__all__:
        found = getattr(headwater, name)
        if inspect.isclass(found):
            yield from _describe_class(name, found)
        elif callable(found):
            yield f"## `headwater.{name}`\n"
            yield _sign(f"headwater.{name}", found)
            yield _clean(found)


def _describe_class(name: str, found: type) -> Iterator[str]:
    yield f"## `headwater.{name}`\n"
    own = vars(found)
    if "__init__" in own and own["__init__"].__doc__ and name != "HeadwaterError":
        yield _sign(f"headwater.{name}", own["__init__"], skip=1)
    yield _clean(found)
    for member, value in own.items():
        if member.startswith("_") and member not in SPECIAL:
            continue
        if isinstance(value, property | cached_property):
            getter = value.fget if isinstance(value, property) else value.func
            if getter is not None and getter.__doc__:
                yield f"### `{name}.{member}`\n"
                yield _clean(getter)
        elif callable(value) and value.__doc__:
            yield f"### `{name}.{member}`\n"
            yield _sign(member, value, skip=1)
            yield _clean(value)


def _sign(name: str, function: object, skip: int = 0) -> str:
    signature = inspect.signature(function)  # type: ignore[arg-type]  # callers pass callables
    parameters = list(signature.parameters.values())[skip:]
    text = str(signature.replace(parameters=parameters)).replace("mappingproxy({})", "{}")
    return f"```text\n{name}{_shorten(text)}\n```\n"


def _list_fields(found: type) -> list[str]:
    hidden = {field.name for field in fields(found) if not field.repr}
    types = {name: kind for name, kind in found.__annotations__.items() if name not in hidden}
    rows = [
        f"| `{name}` | `{_shorten(_name(kind)).replace(' | None', ' or None')}` |"
        for name, kind in types.items()
    ]
    return ["| attribute | type |", "| --- | --- |", *rows, ""]


def _name(kind: object) -> str:
    return kind.__name__ if isinstance(kind, type) and not hasattr(kind, "__args__") else str(kind)


def _shorten(text: str) -> str:
    return MODULES.sub("", QUOTED.sub(r"\1\2", text))


def _clean(found: object) -> str:
    return f"{inspect.getdoc(found)}\n"


if __name__ == "__main__":
    PAGE.write_text(write(), "utf-8")
    sys.stdout.write(f"{PAGE}\n")
