"""Detects the kind of a document by its first bytes, else by its name. Pure."""

from pathlib import PurePosixPath
from typing import Literal

DocumentKind = Literal["pdf", "html", "markdown", "docx", "text"]

_BY_SUFFIX: dict[str, DocumentKind] = {
    "pdf": "pdf",
    "html": "html",
    "htm": "html",
    "xhtml": "html",
    "md": "markdown",
    "markdown": "markdown",
    "docx": "docx",
    "txt": "text",
    "text": "text",
}
DOCUMENT_SUFFIXES = frozenset(_BY_SUFFIX) - {"txt", "text"}
_COMPRESSIONS = frozenset({"gz", "gzip", "bz2", "zst", "zstd"})
_PDF_WITHIN = 1_024


def find_kind(name: str, data: bytes) -> DocumentKind | None:
    """Return the kind, or None for other files."""
    if b"%PDF-" in data[:_PDF_WITHIN]:
        return "pdf"
    if data.startswith(b"PK\x03\x04"):
        return "docx"
    parts = PurePosixPath(name).name.lower().split(".")
    while len(parts) > 1 and parts[-1] in _COMPRESSIONS:
        parts.pop()
    named = _BY_SUFFIX.get(parts[-1]) if len(parts) > 1 else None
    if named in ("pdf", "docx"):
        # The bytes do not match the name's extension.
        return None
    if named is not None:
        return named
    head = data[:_PDF_WITHIN].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    return "html" if head.startswith((b"<!doctype html", b"<html")) else None
