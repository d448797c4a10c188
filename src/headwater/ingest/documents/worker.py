"""The process in which documents are parsed: `python -c ... run()`. It may be killed at any time.

In: lines of JSON `{"kind", "size"}`, each followed by so many bytes. Out: a line of JSON for each,
`{"title", "sections"}` or `{"error", "reason"}`.
"""

import json
import resource
import sys
from collections.abc import Callable
from dataclasses import astuple, replace
from importlib import import_module
from typing import Any, BinaryIO

from headwater.ingest.documents.section import ParsedDocument

_PARSERS = {
    "pdf": "parse_pdf",
    "html": "parse_html",
    "markdown": "parse_markdown",
    "docx": "parse_docx",
    "text": "parse_plain",
}
_MODULES = {"text": "plain"}


def load_parser(kind: str) -> Callable[[bytes], ParsedDocument]:
    """The parser of that kind; its libraries are imported now."""
    module = import_module(f"headwater.ingest.documents.{_MODULES.get(kind, kind)}")
    found: Callable[[bytes], ParsedDocument] = getattr(module, _PARSERS[kind])
    return found


def run(max_memory_bytes: int) -> None:
    """Until there is nothing more to read."""
    resource.setrlimit(resource.RLIMIT_AS, (max_memory_bytes, max_memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    answers, sys.stdout = sys.stdout.buffer, sys.stderr
    while line := sys.stdin.buffer.readline():
        asked = json.loads(line)
        answers.write(json.dumps(_answer(asked["kind"], _read(sys.stdin.buffer, asked["size"]))).encode())
        answers.write(b"\n")
        answers.flush()


def _read(stream: BinaryIO, size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        sys.exit(0)  # who asked is gone
    return data


def _answer(kind: str, data: bytes) -> dict[str, Any]:
    try:
        found = load_parser(kind)(data)
    except MemoryError as error:
        return {"reason": "oversize", "error": str(error) or "it needs more memory than is allowed"}
    except Exception as error:  # whatever a library makes of hostile bytes concerns this document only
        return {"reason": "unparsable", "error": f"{type(error).__name__}: {error}"}
    sections = [replace(s, title=_clean(s.title), text=_clean(s.text)) for s in found.sections]
    return {"title": _clean(found.title), "sections": [astuple(section) for section in sections]}


def _clean(text: str) -> str:
    """Text that any store takes: no half characters, no zeros."""
    return text.replace("\0", "").encode("utf-16", "surrogatepass").decode("utf-16", "replace")
