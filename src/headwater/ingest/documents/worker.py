"""The process that parses documents: `python -c ... run()`. It may be killed at any time.

In: lines of JSON `{"kind", "size", "seconds", "max_chars"}`, each followed by that number of bytes. Out: one
line of JSON for each, `{"title", "sections", "seconds"}` or `{"error", "reason", "seconds"}`. A document that
takes more than its `seconds` of CPU ends the process with SIGPROF.
"""

import json
import resource
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import astuple, replace
from importlib import import_module
from typing import Any, BinaryIO

from headwater.ingest.documents.section import MAX_TITLE_CHARS, ParsedDocument, check_count

_PARSERS = {
    "pdf": "parse_pdf",
    "html": "parse_html",
    "markdown": "parse_markdown",
    "docx": "parse_docx",
    "text": "parse_plain",
}
_MODULES = {"text": "plain"}
_MAX_ERROR_CHARS = 1_000


def load_parser(kind: str) -> Callable[[bytes], ParsedDocument]:
    """Import the libraries of a kind and return its parser."""
    module = import_module(f"headwater.ingest.documents.{_MODULES.get(kind, kind)}")
    found: Callable[[bytes], ParsedDocument] = getattr(module, _PARSERS[kind])
    return found


def run(max_memory_bytes: int) -> None:
    """Parse the documents from standard input until it ends."""
    resource.setrlimit(resource.RLIMIT_AS, (max_memory_bytes, max_memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    answers, sys.stdout = sys.stdout.buffer, sys.stderr
    while line := sys.stdin.buffer.readline():
        asked = json.loads(line)
        data = _read(sys.stdin.buffer, asked["size"])
        with suppress(Exception):
            load_parser(asked["kind"])
        # The kernel counts, so no library can delay it; and CPU, so other processes do not shorten it.
        signal.setitimer(signal.ITIMER_PROF, asked["seconds"])
        answer = _answer(asked["kind"], data, asked["max_chars"])
        signal.setitimer(signal.ITIMER_PROF, 0)
        answers.write(answer.encode() + b"\n")
        answers.flush()


def _read(stream: BinaryIO, size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        sys.exit(0)  # the parent process has ended
    return data


def _answer(kind: str, data: bytes, max_chars: int) -> str:
    started = time.process_time()
    found: dict[str, Any]
    try:
        found = _parse(kind, data, max_chars)
        return json.dumps(found | {"seconds": time.process_time() - started})
    except MemoryError as error:
        why = str(error) or "parsing needs more memory than `maxMemoryMb` allows"
        found = {"reason": "oversize", "error": why}
    except Exception as error:  # a library's error on malicious bytes concerns this document only
        found = {"reason": "unparsable", "error": f"{type(error).__name__}: {error}"[:_MAX_ERROR_CHARS]}
    return json.dumps(found | {"seconds": time.process_time() - started})


def _parse(kind: str, data: bytes, max_chars: int) -> dict[str, Any]:
    found = load_parser(kind)(data)
    check_count(len(found.sections))
    if sum(len(section.text) for section in found.sections) > max_chars:
        raise MemoryError(f"it contains more than {max_chars} characters")
    sections = [
        replace(s, title=_clean(s.title)[:MAX_TITLE_CHARS], text=_clean(s.text)) for s in found.sections
    ]
    title = _clean(found.title)[:MAX_TITLE_CHARS]
    return {"title": title, "sections": [astuple(section) for section in sections]}


def _clean(text: str) -> str:
    """Return text that any store accepts: without lone surrogates and NUL characters."""
    return text.replace("\0", "").encode("utf-16", "surrogatepass").decode("utf-16", "replace")
