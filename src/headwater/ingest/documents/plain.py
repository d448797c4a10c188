"""Plain text: one section per page; form feeds separate pages."""

from headwater.ingest.documents.section import DocumentSection, ParsedDocument
from headwater.ingest.documents.source_text import SourceText


def parse_plain(data: bytes) -> ParsedDocument:
    """Parse plain text, which has no title. Raises `ValueError` for bytes that are not text."""
    source = SourceText(data)
    sections, start = [], 0
    for page, text in enumerate(source.text.split("\f"), start=1):
        end = start + len(text)
        if text.strip():
            sections.append(
                DocumentSection("", 0, text.strip(), page, source.offset(start), source.offset(end))
            )
        start = end + 1
    return ParsedDocument("", tuple(sections))
