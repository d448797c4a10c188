"""Converts untrusted text to plain words: no markup, hidden characters, links or role markers."""

import html
import re
import unicodedata
from html.parser import HTMLParser

_SKIPPED_TAGS = frozenset({"script", "style", "template", "noscript", "title", "head", "iframe", "object"})
_INLINE_TAGS = frozenset(
    [
        "b",
        "i",
        "u",
        "s",
        "em",
        "strong",
        "span",
        "small",
        "big",
        "sub",
        "sup",
        "font",
        "mark",
        "a",
        "abbr",
        "wbr",
        "img",
    ]
)
_BLOCK_TAGS = frozenset(
    [
        "p",
        "br",
        "div",
        "ul",
        "ol",
        "li",
        "dl",
        "dt",
        "dd",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "table",
        "tbody",
        "thead",
        "tr",
        "td",
        "th",
        "hr",
        "section",
        "article",
        "header",
        "footer",
    ]
)
_BULLETS = frozenset(
    "\u2022\u2023\u25aa\u25cf\u25a0\u25b6\u25ba\u2713\u2714\u2705\u2605\u2606\u27a4\u2192\u00b7\u2756\u25e6"
)
_ICON = re.compile(
    "[\u00b7\u2190-\u21ff\u2300-\u23ff\u2500-\u27bf\u2b00-\u2bff\u2022\u2023\U0001f000-\U0001faff]"
)
_ROUNDS = 4
"""Entities may hide tags that hide entities; deeper nesting is dropped with its markup."""

# Repetitions have a limit, or exclude what they begin with: otherwise the time grows with the square of the
# text, and a seller's 20,000 brackets keep the server busy for seconds.
_TARGET = r"(?:\([^)]{0,2000}\)|\[[^\]]{0,2000}\])"
_MARKDOWN_IMAGE = re.compile(r"!\[([^\[\]]*)\]" + _TARGET)
_MARKDOWN_LINK = re.compile(r"\[([^\[\]]*)\]" + _TARGET)
_LINK = re.compile(
    r"(?i)\b(?:[a-z][a-z0-9+.-]{1,20}://|javascript:|data:|mailto:|www\.)\S+"
    r"|\b[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){0,8}"
    r"\.(?:com|net|org|io|example|ru|cn|info|biz|shop|xyz|top|test)(?:/\S*)?\b"
)
_ROLE_MARK = re.compile(
    r"(?i)<\|[^|>]{0,40}\|>|\[/?(?:inst|sys|system|user|assistant)\]|<</?[^<>]{0,60}>>"
    r"|(?:^|(?<=[\n.!?]))\s{0,9}(?:#{1,6}\s{0,9})?(?:system|assistant|developer|user|human|instructions?)\s*:"
)
_WIDE_SPACE = re.compile(r"[^\S\n]{9,}")
_LONG_TOKEN = re.compile(r"[A-Za-z0-9+/=_-]{40,}")
_MARKUP = re.compile(r"```|~~~|[`*_~]{2,}|^\s{0,3}(?:#{1,6}|>+)\s+", re.MULTILINE)
_ANGLES = re.compile(r"[<>]+")
_MARKED_SECTION = re.compile(r"<!\[+")
_SPACE = re.compile(r"\s+")
_SPACE_IN_LINE = re.compile(r"[^\S\n]+")
_LINES = re.compile(r"\s*\n\s*")
REMOVED = "\u2421"
"""Stands for what was removed from a text, where `mark_text` marks it: no description contains it."""


def clean_text(text: str, limit: int = 2_000) -> str:
    """Return at most `limit` characters of plain words in one line."""
    return cut_text(_SPACE.sub(" ", _remove(text, limit, " ")).strip(), limit)


def mark_text(text: str, limit: int = 8_000) -> str:
    """Return plain words in lines, with `REMOVED` for links, role marks, code and unusual markup in them."""
    text = _ICON.sub(_choose_break, _remove(text.replace(REMOVED, " "), limit, REMOVED))
    return cut_text(_LINES.sub("\n", _SPACE_IN_LINE.sub(" ", text)).strip(), limit)


def _remove(text: str, limit: int, mark: str) -> str:
    # Removed parts may be long, but the input that is processed is bounded.
    text = remove_hidden(text[: limit * 8])
    for _ in range(_ROUNDS):
        stripped = remove_hidden(strip_tags(text, mark))
        if stripped == text:
            break
        text = stripped
    kept = r"\1" if mark == " " else rf" {mark} \1"
    text = _WIDE_SPACE.sub(" ", _MARKDOWN_LINK.sub(kept, _MARKDOWN_IMAGE.sub(kept, text)))
    # A marked role stays readable: its sentence is an order.
    text = _ROLE_MARK.sub(" " if mark == " " else rf" {mark} \g<0>", text)
    for pattern in (_LINK, _LONG_TOKEN, _MARKUP, _ANGLES):
        text = pattern.sub(f" {mark} ", text)
    return text


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


def end_sentence(text: str) -> str:
    """Return the text with a full stop, unless it ends as a sentence."""
    return text if text.endswith((".", "!", "?", "\u2026", "\u3002", "\uff01", "\uff1f")) else f"{text}."


def _choose_break(match: re.Match[str]) -> str:
    # Sellers separate sentences by bullets and ticks; other icons say nothing.
    return "\n" if match[0] in _BULLETS else " "


class _Words(HTMLParser):
    """Keeps the text between tags; drops scripts, styles and comments. `mark` replaces unusual tags, `inline`
    those within a word."""

    def __init__(self, mark: str, inline: str) -> None:
        super().__init__(convert_charrefs=True)
        self.words: list[str] = []
        self._mark = mark
        self._inline = inline
        self._skipped = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        self._skipped += tag in _SKIPPED_TAGS
        self.words.append(self._choose_space(tag))

    def handle_endtag(self, tag: str) -> None:
        self._skipped = max(0, self._skipped - (tag in _SKIPPED_TAGS))
        self.words.append(self._choose_space(tag))

    def handle_data(self, data: str) -> None:
        if not self._skipped:
            self.words.append(data)

    def _choose_space(self, tag: str) -> str:
        if tag in _INLINE_TAGS or self._mark == " ":
            return self._inline
        return "\n" if tag in _BLOCK_TAGS else f" {self._mark} "


def strip_tags(text: str, mark: str, inline: str = " ") -> str:
    """Return the text between HTML tags, with decoded entities and a line for each block.

    Scripts, styles and comments are dropped. `mark` replaces unusual tags, `inline` those within a word.
    """
    if "<" not in text:
        return html.unescape(text)
    parser = _Words(mark, inline)
    # No tag ends in the rest, where the parser would search for the end of each.
    end = text.rfind(">") + 1
    text = text[:end] + text[end:].replace("<", "&lt;")
    # For a marked section of an unknown kind, such as `<![foo[`, Python's parser raises AssertionError.
    parser.feed(_MARKED_SECTION.sub("<!", text))
    parser.close()
    return "".join(parser.words)
