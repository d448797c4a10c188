"""PDF: one section per page, titled by the last bookmark up to that page."""

import io
from typing import Any

from pypdf import PdfReader
from pypdf.errors import PyPdfError
from pypdf.generic import Destination

from headwater.ingest.documents.section import DocumentSection, ParsedDocument

MAX_PAGES = 20_000


def parse_pdf(data: bytes) -> ParsedDocument:
    """Parse a PDF; skip pages without text (scans). Raises `ValueError`, also for password protection."""
    try:
        reader = PdfReader(io.BytesIO(data), strict=False)
        if reader.is_encrypted and not reader.decrypt(""):
            raise ValueError("it is encrypted")
        if len(reader.pages) > MAX_PAGES:
            raise ValueError(f"it has {len(reader.pages)} pages; the limit is {MAX_PAGES}")
        bookmarks = _find_bookmarks(reader)
        title, level = "", 0
        sections = []
        for number, page in enumerate(reader.pages):
            title, level = bookmarks.get(number, (title, level))
            text = page.extract_text().strip()
            if text:
                sections.append(DocumentSection(title, level, text, number + 1))
        named = (reader.metadata.title or "") if reader.metadata else ""
    except PyPdfError as error:
        raise ValueError(str(error) or type(error).__name__) from error
    return ParsedDocument(named.strip(), tuple(sections))


def _find_bookmarks(reader: PdfReader) -> dict[int, tuple[str, int]]:
    """Return the first bookmark of each page, by page index."""
    found: dict[int, tuple[str, int]] = {}
    waiting: list[tuple[Any, int]] = [(entry, 1) for entry in reversed(reader.outline)]
    while waiting:
        entry, level = waiting.pop()
        if isinstance(entry, list):
            waiting.extend((inner, level + 1) for inner in reversed(entry))
        elif isinstance(entry, Destination):
            page = reader.get_destination_page_number(entry)
            if page is not None and page >= 0:
                found.setdefault(page, (str(entry.title or "").strip(), level))
    return found
