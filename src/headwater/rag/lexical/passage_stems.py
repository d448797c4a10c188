"""The stems of a passage and their positions, as ranking compares them. Pure.

An index stores them with each text: analysing some hundred texts would cost more than querying the store.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from headwater.rag.lexical.analyzer import detect_language, list_stems
from headwater.rag.lexical.languages import LANGUAGES

# In a title, the words after these name the accessory's target, not the product: "case for a camera".
_RELATIONS = {
    language.name: re.compile(rf"\b(?:{'|'.join(language.relations)})\b", re.IGNORECASE)
    for language in LANGUAGES
}


@dataclass(frozen=True, slots=True)
class PassageStems:
    """Stems of the product's name, of the related product, and of the body, each as one text; and their
    language.

    A query has few words and a passage many: substring searches cost less than building sets.
    """

    name: str
    related: str
    body: str
    language: str

    def is_name(self, stem: str) -> bool:
        """True if the product's name has the stem."""
        return f" {stem} " in self.name

    def is_related(self, stem: str) -> bool:
        """True if the stem names the related product, such as the camera in "case for a camera"."""
        return f" {stem} " in self.related

    def is_in_body(self, stem: str) -> bool:
        """True if the description has the stem."""
        return f" {stem} " in self.body

    def has(self, stem: str) -> bool:
        """True if the stem occurs anywhere."""
        return self.is_name(stem) or self.is_in_body(stem) or self.is_related(stem)


def split_title(text: str) -> tuple[str, str]:
    """Return the first line and the rest; a single line is all body."""
    title, line, body = text.partition("\n")
    return (title, body) if line else ("", text)


def write_stems(text: str) -> str:
    """Return the stems in stored form: three lines, a space before and after each stem; then the language."""
    title, body = split_title(text)
    language = detect_language(text)
    relation = _RELATIONS[language.name].search(title)
    # A title that starts with the word has no other name.
    split_at = relation.start() if relation is not None and relation.start() > 0 else len(title)
    parts = (title[:split_at], title[split_at:], body)
    lines = [" ".join(("", *dict.fromkeys(list_stems(part, language)), "")) for part in parts]
    return "\n".join([*lines, language.name])


def parse_stems(written: str) -> PassageStems:
    """Parse the output of `write_stems`."""
    return PassageStems(*written.split("\n"))


@lru_cache(maxsize=4_096)
def read_stems(text: str) -> PassageStems:
    """Return the stems of a passage that is not indexed; recent results are cached."""
    return parse_stems(write_stems(text))
