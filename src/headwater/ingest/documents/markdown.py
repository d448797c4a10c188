"""Markdown (CommonMark with tables): one section per heading, code and tables unchanged."""

from collections.abc import Iterator
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token

from headwater.ingest.documents.section import DocumentSection, ParsedDocument
from headwater.ingest.documents.source_text import SourceText


def parse_markdown(data: bytes) -> ParsedDocument:
    """Parse Markdown. The title is the first heading of the highest level. Raises `ValueError`."""
    source = SourceText(data)
    tokens = MarkdownIt("commonmark", {"html": False}).enable("table").parse(source.text)
    headings = list(_iter_headings(tokens))
    starts = [source.line_start(line) for line, _, _ in headings]
    bounds = [0, *starts, len(source.text)]
    sections = []
    for at, (_, level, title) in enumerate([(0, 0, ""), *headings]):
        text = source.text[bounds[at] : bounds[at + 1]]
        if level or text.strip():
            start, end = source.offset(bounds[at]), source.offset(bounds[at + 1])
            sections.append(DocumentSection(title, level, text.strip(), None, start, end))
    highest = min((level for _, level, _ in headings), default=0)
    return ParsedDocument(next((t for _, level, t in headings if level == highest), ""), tuple(sections))


def _iter_headings(tokens: list[Token]) -> Iterator[tuple[int, int, str]]:
    """Yield line, level and text."""
    for opening, inline in pairwise(tokens):
        # Only outermost ones: a heading in a quotation or a list is part of it.
        if opening.type == "heading_open" and opening.level == 0 and opening.map:
            words = "".join(child.content for child in inline.children or () if child.type != "html_inline")
            yield opening.map[0], int(opening.tag[1:]), words.strip()
