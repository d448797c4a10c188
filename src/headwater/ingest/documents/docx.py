"""DOCX: one section per heading, tables row by row."""

import io
import re
import zipfile
from collections.abc import Callable, Iterator
from functools import lru_cache

import docx
from docx.document import Document
from docx.enum.style import WD_STYLE_TYPE
from docx.oxml.text.paragraph import CT_P
from docx.table import Table

from headwater.ingest.documents.section import DocumentSection, ParsedDocument

_HEADING = re.compile(r"heading\s*(\d)", re.IGNORECASE)
MAX_UNPACKED_BYTES = 256 * 1024 * 1024
# Word's own limit is 63.
MAX_COLUMNS = 10_000


def parse_docx(data: bytes) -> ParsedDocument:
    """Parse DOCX. The title is the document's property, else its Title paragraph. Raises `ValueError`."""
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        # Reading a part stops at the size that the archive declares for it.
        size = sum(part.file_size for part in packed.infolist())
        if size > MAX_UNPACKED_BYTES:
            raise MemoryError(f"it unpacks to {size} bytes; the limit is {MAX_UNPACKED_BYTES}")
        if "word/document.xml" not in packed.namelist():
            raise ValueError("it is a ZIP archive without word/document.xml")
    document = docx.Document(io.BytesIO(data))
    title = (document.core_properties.title or "").strip()
    sections: list[DocumentSection] = []
    heading, level, lines = "", 0, list[str]()
    for found, text in _iter_lines(document):
        if found == 0 and not title:
            title = text
        if found:
            _close(sections, heading, level, lines)
            heading, level, lines = text, found, []
        lines.append(text)
    _close(sections, heading, level, lines)
    return ParsedDocument(title, tuple(sections))


def _iter_lines(document: Document) -> Iterator[tuple[int | None, str]]:
    """Yield heading level (0: the document's title, None: no heading) and text."""
    find_level = _build_level_finder(document)
    for block in document.element.body.inner_content_elements:
        if isinstance(block, CT_P):
            text = block.text.strip()
            if text:
                yield find_level(block.style), text
        else:
            for text in _iter_table_rows(Table(block, document)):
                yield None, text


def _iter_table_rows(table: Table) -> Iterator[str]:
    for row in table.rows:
        # `cells` repeats a merged cell for each of its columns.
        columns = sum(cell.grid_span for cell in row._tr.tc_lst)
        if columns > MAX_COLUMNS:
            raise ValueError(f"a row of a table has {columns:,} columns; the limit is {MAX_COLUMNS:,}")
        cells = dict.fromkeys(cell.text.strip() for cell in row.cells)
        yield " | ".join(text for text in cells if text)


def _build_level_finder(document: Document) -> Callable[[str | None], int | None]:
    """Return a function from the id of a paragraph's style to its heading level.

    It remembers styles: the library searches all of them for each paragraph, which took 1 ms.
    """

    @lru_cache(maxsize=1_000)
    def find_level(style_id: str | None) -> int | None:
        name = document.part.get_style(style_id, WD_STYLE_TYPE.PARAGRAPH).name or ""
        heading = _HEADING.match(name)
        return int(heading[1]) if heading else 0 if name.lower() == "title" else None

    return find_level


def _close(sections: list[DocumentSection], heading: str, level: int, lines: list[str]) -> None:
    text = "\n".join(line for line in lines if line)
    if text:
        sections.append(DocumentSection(heading, level, text))
