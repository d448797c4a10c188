"""DOCX: one section per heading, tables row by row."""

import io
import re
import zipfile
from collections.abc import Iterator

import docx
from docx.table import Table
from docx.text.paragraph import Paragraph

from headwater.ingest.documents.section import DocumentSection, ParsedDocument

_HEADING = re.compile(r"heading\s*(\d)", re.IGNORECASE)
MAX_UNPACKED_BYTES = 256 * 1024 * 1024


def parse_docx(data: bytes) -> ParsedDocument:
    """Parse DOCX. The title is the document's property, else its Title paragraph. Raises `ValueError`."""
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        size = sum(part.file_size for part in packed.infolist())
        if size > MAX_UNPACKED_BYTES:
            raise MemoryError(f"it unpacks to {size} bytes; the limit is {MAX_UNPACKED_BYTES}")
        if "word/document.xml" not in packed.namelist():
            raise ValueError("it is a ZIP archive without word/document.xml")
    document = docx.Document(io.BytesIO(data))
    title = (document.core_properties.title or "").strip()
    sections: list[DocumentSection] = []
    heading, level, lines = "", 0, list[str]()
    for found, text in _iter_lines(document.iter_inner_content()):
        if found == 0 and not title:
            title = text
        if found:
            _close(sections, heading, level, lines)
            heading, level, lines = text, found, []
        lines.append(text)
    _close(sections, heading, level, lines)
    return ParsedDocument(title, tuple(sections))


def _iter_lines(content: Iterator[Paragraph | Table]) -> Iterator[tuple[int | None, str]]:
    """Yield heading level (0: the document's title, None: no heading) and text."""
    for block in content:
        if isinstance(block, Table):
            for row in block.rows:
                # A merged cell occurs at each of its positions.
                cells = dict.fromkeys(cell.text.strip() for cell in row.cells)
                yield None, " | ".join(text for text in cells if text)
            continue
        style = (block.style.name or "") if block.style is not None else ""
        heading = _HEADING.match(style)
        level = int(heading[1]) if heading else 0 if style.lower() == "title" else None
        if block.text.strip():
            yield level, block.text.strip()


def _close(sections: list[DocumentSection], heading: str, level: int, lines: list[str]) -> None:
    text = "\n".join(line for line in lines if line)
    if text:
        sections.append(DocumentSection(heading, level, text))
