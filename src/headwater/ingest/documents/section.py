"""`DocumentSection`: a piece of a document under one heading."""

from dataclasses import dataclass

MAX_SECTION_CHARS = 100_000
"""Maximum length of a section; longer ones are split, at a paragraph if possible."""
MAX_TITLE_CHARS = 500
"""Maximum length of a title; longer ones are truncated, since each row of a section repeats it."""
MAX_SECTIONS = 100_000
"""Maximum number of sections of a document."""


@dataclass(frozen=True, slots=True)
class DocumentSection:
    """`title` is its heading, `level` that heading's (1 is the highest; 0: text without one).

    `page` starts at 1, for kinds with pages. `start` and `end` are byte offsets into the object, for kinds
    that store their text unchanged.
    """

    title: str
    level: int
    text: str
    page: int | None = None
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """The result of a parser; `title` is the document's own, if it has one."""

    title: str
    sections: tuple[DocumentSection, ...]


def check_count(sections: int) -> None:
    """Raise `MemoryError` if a document has more than `MAX_SECTIONS`."""
    if sections > MAX_SECTIONS:
        raise MemoryError(f"it has {sections:,} sections; the limit is {MAX_SECTIONS:,}")
