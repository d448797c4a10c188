"""Markdown (CommonMark with tables): one section per heading, code and tables unchanged."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from headwater.ingest.documents.section import MAX_TITLE_CHARS, DocumentSection, ParsedDocument, check_count
from headwater.ingest.documents.source_text import SourceText

# Each opening bracket of a heading costs a pass over the rest of it.
_MAX_LINKS = 32


def parse_markdown(data: bytes) -> ParsedDocument:
    """Parse Markdown. The title is the first heading of the highest level. Raises `ValueError`."""
    source = SourceText(data)
    # Paragraphs stay as they are; parsing their emphasis and links takes quadratic time: 1 MB of `[`, hours.
    parser = MarkdownIt("commonmark", {"html": False}).enable("table").disable("inline")
    links: dict[str, Any] = {}
    tokens = parser.parse(source.text, links)
    parser.enable("inline")
    found = list(_iter_headings(tokens))
    check_count(len(found))
    headings = [(line, level, _find_title(parser, text, links)) for line, level, text in found]
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
    """Yield line, level and source."""
    for opening, inline in pairwise(tokens):
        # Only outermost ones: a heading in a quotation or a list is part of it.
        if opening.type == "heading_open" and opening.level == 0 and opening.map:
            yield opening.map[0], int(opening.tag[1:]), inline.content


def _find_title(parser: MarkdownIt, text: str, links: dict[str, Any]) -> str:
    """Return a heading's words. `links` are the document's link references."""
    text = text[:MAX_TITLE_CHARS]
    if text.count("[") > _MAX_LINKS:
        return text.strip()
    children = parser.parseInline(text, links)[0].children or ()
    return "".join(child.content for child in children if child.type != "html_inline").strip()
