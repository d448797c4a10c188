"""The process that parses documents: `python -c ... run()`. It may be killed at any time.

In: lines of JSON `{"kind", "size"}`, each followed by that number of bytes. Out: one line of JSON for each,
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
    """Import the libraries of a kind and return its parser."""
    module = import_module(f"headwater.ingest.documents.{_MODULES.get(kind, kind)}")
    found: Callable[[bytes], ParsedDocument] = getattr(module, _PARSERS[kind])
    return found


def run(max_memory_bytes: int) -> None:
    """Parse the documents from standard input until it ends."""
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
        sys.exit(0)  # the parent process has ended
    return data


def _answer(kind: str, data: bytes) -> dict[str, Any]:
    try:
        found = load_parser(kind)(data)
    except MemoryError as error:
        return {
            "reason": "oversize",
            "error": str(error) or "parsing needs more memory than `maxMemoryMb` allows",
        }
    except Exception as error:  # a library's error on malicious bytes concerns this document only
        return {"reason": "unparsable", "error": f"{type(error).__name__}: {error}"}
    sections = [replace(s, title=_clean(s.title), text=_clean(s.text)) for s in found.sections]
    return {"title": _clean(found.title), "sections": [astuple(section) for section in sections]}


def _clean(text: str) -> str:
    """Return text that any store accepts: without lone surrogates and NUL characters."""
    return text.replace("\0", "").encode("utf-16", "surrogatepass").decode("utf-16", "replace")
