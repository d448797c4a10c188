"""HTML: one section per heading; scripts, styles and navigation are ignored."""

import re
from collections.abc import Iterator

from bs4 import BeautifulSoup
from bs4.element import NavigableString, PageElement, PreformattedString, Tag

from headwater.ingest.documents.section import DocumentSection, ParsedDocument
from headwater.ingest.documents.source_text import SourceText

_HEADING = re.compile(r"h([1-6])", re.IGNORECASE)
_NO_TEXT = frozenset({"script", "style", "noscript", "template", "nav", "head", "svg", "iframe", "object"})
_BLOCKS = frozenset(
    {
        *(
            "address",
            "article",
            "aside",
            "blockquote",
            "br",
            "dd",
            "details",
            "div",
            "dl",
            "dt",
            "figcaption",
        ),
        *("figure", "footer", "form", "header", "hr", "li", "main", "ol", "p", "pre", "section", "summary"),
        *("table", "td", "th", "tr", "ul"),
    }
)


def parse_html(data: bytes) -> ParsedDocument:
    """Parse HTML. The title is `<title>`, else the first `<h1>`. Raises `ValueError` if it is not text."""
    source = SourceText(data, declares=True)
    # Python's own parser reports source positions; it never fails and opens no resources.
    soup = BeautifulSoup(source.text, "html.parser")
    found = _Collector(source)
    for element in _iter_elements(soup):
        found.take(element)
    sections = found.finish()
    named = soup.title.get_text(" ", strip=True) if soup.title else ""
    return ParsedDocument(named or next((s.title for s in sections if s.level == 1), ""), sections)


def _iter_elements(soup: BeautifulSoup) -> Iterator[PageElement]:
    """Yield tags and texts in document order; a loop, since HTML may nest deeper than Python's stack."""
    waiting: list[PageElement] = list(reversed(soup.contents))
    while waiting:
        element = waiting.pop()
        if isinstance(element, Tag) and element.name.lower() in _NO_TEXT:
            continue
        yield element
        if isinstance(element, Tag) and not _HEADING.fullmatch(element.name):
            waiting.extend(reversed(element.contents))


class _Collector:
    """Collects the texts of a section until the next heading."""

    def __init__(self, source: SourceText) -> None:
        self._source = source
        self._sections: list[DocumentSection] = []
        self._begin("", 0, 0)

    def _begin(self, title: str, level: int, start: int) -> None:
        self._title, self._level, self._start = title, level, start
        self._parts: list[str] = []

    def take(self, element: PageElement) -> None:
        if isinstance(element, Tag):
            heading = _HEADING.fullmatch(element.name)
            if heading:
                offset = self._find_offset(element)
                self._end(offset)
                self._begin(element.get_text(" ", strip=True), int(heading[1]), offset)
                self._parts.append(self._title + "\n")
            elif element.name.lower() in _BLOCKS:
                self._parts.append("\n")
        elif isinstance(element, NavigableString) and not isinstance(element, PreformattedString):
            self._parts.append(re.sub(r"\s+", " ", element))

    def finish(self) -> tuple[DocumentSection, ...]:
        self._end(len(self._source.text))
        return tuple(self._sections)

    def _find_offset(self, tag: Tag) -> int:
        return self._source.line_start((tag.sourceline or 1) - 1) + (tag.sourcepos or 0)

    def _end(self, end: int) -> None:
        lines = (line.strip() for line in "".join(self._parts).split("\n"))
        text = "\n".join(line for line in lines if line)
        if text or self._level:
            start, last = self._source.offset(self._start), self._source.offset(end)
            self._sections.append(DocumentSection(self._title, self._level, text, None, start, last))
