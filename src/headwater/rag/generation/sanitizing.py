"""Converts untrusted text to plain words: no markup, hidden characters, links or role markers."""

import html
import re
import unicodedata
from html.parser import HTMLParser

_SKIPPED_TAGS = frozenset({"script", "style", "template", "noscript", "title", "head", "iframe", "object"})
_ROUNDS = 4
"""Entities may hide tags that hide entities; deeper nesting is dropped with its markup."""

_MARKDOWN_IMAGE = re.compile(r"!\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])")
_MARKDOWN_LINK = re.compile(r"\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])")
_LINK = re.compile(
    r"(?i)\b(?:[a-z][a-z0-9+.-]{1,20}://|javascript:|data:|mailto:|www\.)\S+"
    r"|\b[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?:com|net|org|io|example|ru|cn|info|biz|shop|xyz|top|test)(?:/\S*)?\b"
)
_ROLE_MARK = re.compile(
    r"(?i)<\|[^|>]{0,40}\|>|\[/?(?:inst|sys|system|user|assistant)\]|<</?[^<>]{0,60}>>"
    r"|(?:^|(?<=[\n.!?]))\s*(?:#{1,6}\s*)?(?:system|assistant|developer|user|human|instructions?)\s*:"
)
_LONG_TOKEN = re.compile(r"[A-Za-z0-9+/=_-]{40,}")
_MARKUP = re.compile(r"```|~~~|[`*_~]{2,}|^\s{0,3}(?:#{1,6}|>+)\s+", re.MULTILINE)
_ANGLES = re.compile(r"[<>]+")
_SPACE = re.compile(r"\s+")


def clean_text(text: str, limit: int = 2_000) -> str:
    """Return at most `limit` characters of plain words in one line."""
    # Removed parts may be long, but the input that is processed is bounded.
    text = remove_hidden(text[: limit * 8])
    for _ in range(_ROUNDS):
        stripped = remove_hidden(_strip_tags(text))
        if stripped == text:
            break
        text = stripped
    text = _MARKDOWN_LINK.sub(r"\1", _MARKDOWN_IMAGE.sub(r"\1", text))
    for pattern in (_ROLE_MARK, _LINK, _LONG_TOKEN, _MARKUP, _ANGLES):
        text = pattern.sub(" ", text)
    return cut_text(_SPACE.sub(" ", text).strip(), limit)


def remove_hidden(text: str) -> str:
    """Remove invisible characters: zero-width, bidirectional, tag and control characters, lone surrogates.

    Letters in other shapes (full-width, mathematical) become plain ones.
    """
    text = unicodedata.normalize("NFKC", text)
    return "".join(
        character
        for character in text
        if character in "\n\t" or unicodedata.category(character) not in {"Cc", "Cf", "Cs", "Co", "Cn"}
    )


def cut_text(text: str, limit: int) -> str:
    """Return at most `limit` characters, split between words if there is a space."""
    if len(text) <= limit:
        return text
    return text[: limit - 1].rpartition(" ")[0].rstrip() + "…" if " " in text[:limit] else text[:limit]


class _Words(HTMLParser):
    """Keeps the text between tags; drops scripts, styles and comments."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.words: list[str] = []
        self._skipped = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        self._skipped += tag in _SKIPPED_TAGS
        self.words.append(" ")

    def handle_endtag(self, tag: str) -> None:
        self._skipped = max(0, self._skipped - (tag in _SKIPPED_TAGS))
        self.words.append(" ")

    def handle_data(self, data: str) -> None:
        if not self._skipped:
            self.words.append(data)


def _strip_tags(text: str) -> str:
    if "<" not in text:
        return html.unescape(text)
    parser = _Words()
    parser.feed(text)
    parser.close()
    return "".join(parser.words)
