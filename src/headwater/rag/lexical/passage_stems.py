"""Which stems a passage has, and where, as ranking compares them. Pure.

An index keeps them beside each text: analysing some hundred texts would cost more than asking the store.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from headwater.rag.lexical.analyzer import list_stems

# What stands after these in a title is what the thing goes with, not what it is: "case for a camera".
_RELATION = re.compile(r"\b(?:for|fits|fit|to\s+fit|compatible\s+with|suitable\s+for)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PassageStems:
    """Stems of the thing's own name, of what it goes with, and of the body; each as one text.

    A query has few words and a passage many: looking for those few in the text costs less than making sets.
    """

    name: str
    related: str
    body: str

    def is_name(self, stem: str) -> bool:
        """Whether the thing is called so."""
        return f" {stem} " in self.name

    def is_related(self, stem: str) -> bool:
        """Whether it goes with something that is called so."""
        return f" {stem} " in self.related

    def is_in_body(self, stem: str) -> bool:
        """Whether its description has it."""
        return f" {stem} " in self.body

    def has(self, stem: str) -> bool:
        """Whether it is anywhere."""
        return self.is_name(stem) or self.is_in_body(stem) or self.is_related(stem)


def split_title(text: str) -> tuple[str, str]:
    """The first line and the rest; a single line is all body."""
    title, line, body = text.partition("\n")
    return (title, body) if line else ("", text)


def write_stems(text: str) -> str:
    """The stems of a passage as an index keeps them: three lines, a space before and after each stem."""
    title, body = split_title(text)
    relation = _RELATION.search(title)
    # A title that begins with the word has no other name.
    place = relation.start() if relation is not None and relation.start() > 0 else len(title)
    parts = (title[:place], title[place:], body)
    return "\n".join(" ".join(("", *dict.fromkeys(list_stems(part)), "")) for part in parts)


def parse_stems(written: str) -> PassageStems:
    """Inverse of `write_stems`."""
    return PassageStems(*written.split("\n"))


@lru_cache(maxsize=4_096)
def read_stems(text: str) -> PassageStems:
    """Of a passage that no index has analysed; what was looked at lately is remembered."""
    return parse_stems(write_stems(text))
