"""Validates columns as DDL without a JVM, like Spark's parser of column lists.

Spark 3.5's grammar: `colTypeList` of SqlBaseParser.g4, the same with colons, or a single type.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from headwater.config.problems.nearest import find_nearest

_TOKEN = re.compile(
    r"""\s*(?:
    (?P<quoted>`(?:[^`]|``)+`)
  | (?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
  | (?P<word>\w+)
  | (?P<sign>.)
    )""",
    re.VERBOSE | re.DOTALL,
)
_WORD = re.compile(r"\w+", re.ASCII)
_SIMPLE = (
    "boolean", "tinyint", "byte", "smallint", "short", "int", "integer", "bigint", "long", "float", "real",
    "double", "date", "timestamp", "timestamp_ntz", "timestamp_ltz", "string", "binary", "void",
)  # fmt: skip
_SIZED = {
    "decimal": (0, 2),
    "dec": (0, 2),
    "numeric": (0, 2),
    "char": (1, 1),
    "character": (1, 1),
    "varchar": (1, 1),
}
_NESTED = ("array", "map", "struct", "interval")
TYPE_NAMES = (*_SIMPLE, *_SIZED, *_NESTED)
_MAX_PRECISION = 38


class DdlError(ValueError):
    """Describes the error as the end of a sentence about the text."""


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str


def check_ddl(ddl: str) -> None:
    """Raise `DdlError` for an invalid list of columns, or for a duplicate column."""
    tokens = list(_iter_tokens(ddl))
    if not tokens:
        raise DdlError("the text is empty")
    parser = _Parser(tokens)
    if len(tokens) == 1 and tokens[0].text.lower() not in TYPE_NAMES:
        raise DdlError(f"column {tokens[0].text!r} has no type")
    if len(tokens) == 1 or tokens[1].text in ("<", "("):
        # A single type: `struct<id: bigint>`, or one column that Spark names `value`.
        parser.read_type()
    else:
        parser.read_columns(end="")
    parser.expect_end()


def _iter_tokens(ddl: str) -> Iterator[_Token]:
    for match in _TOKEN.finditer(ddl.rstrip()):
        kind = match.lastgroup or ""
        yield _Token(kind, match[kind])


class _Parser:
    """Reads tokens from the left, one at a time."""

    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._at = 0

    def read_columns(self, end: str) -> None:
        """Read `name type, ...` up to `end`, which is not consumed."""
        seen: set[str] = set()
        while True:
            name = self._read_column()
            if name.lower() in seen:
                raise DdlError(f"column {name!r} is duplicate; names are case-insensitive")
            seen.add(name.lower())
            if not self._take(","):
                break
        if end and self._peek().text != end:
            raise DdlError(f"expected `,` or `{end}` before {self._describe()}")

    def _read_column(self) -> str:
        name = self._read_name()
        self._take(":")
        self.read_type(name)
        if self._take("not") and not self._take("null"):
            raise DdlError(f"expected NULL after NOT before {self._describe()}")
        if self._take("comment") and self._next().kind != "text":
            raise DdlError(f"the COMMENT of {name!r} requires quotes")
        return name

    def _read_name(self) -> str:
        token = self._next()
        if token.kind == "quoted":
            return token.text[1:-1].replace("``", "`")
        if token.kind != "word":
            raise DdlError(f"expected a column's name, found {token.text or 'the end'!r}")
        if not _WORD.fullmatch(token.text):
            raise DdlError(f"the name {token.text!r} requires backticks: `{token.text}`")
        return token.text

    def read_type(self, column: str = "") -> None:
        """Read one type, including nested types."""
        token = self._next()
        name = token.text.lower()
        if token.kind != "word" or name not in TYPE_NAMES:
            raise DdlError(_describe_unknown(column, token))
        if name in _SIZED:
            self._read_sizes(name, *_SIZED[name])
        elif name == "array":
            self._read_inside(1)
        elif name == "map":
            self._read_inside(2)
        elif name == "struct":
            self._read_struct()
        elif name == "interval":
            self._read_interval()

    def _read_sizes(self, name: str, least: int, most: int) -> None:
        if not self._take("("):
            if least:
                raise DdlError(f"the type `{name}` requires a length: `{name}(10)`")
            return
        sizes = [self._read_number(name)]
        while self._take(","):
            sizes.append(self._read_number(name))
        self._expect(")")
        if len(sizes) > most:
            raise DdlError(f"the type `{name}` takes at most {most} numbers")
        if most == 2 and (sizes[0] > _MAX_PRECISION or sizes[-1] > sizes[0]):
            raise DdlError(
                f"`{name}` has at most {_MAX_PRECISION} digits, and its scale must not exceed its precision"
            )

    def _read_number(self, name: str) -> int:
        token = self._next()
        if not token.text.isdecimal():
            raise DdlError(f"`{name}(...)` takes whole numbers, found {token.text or 'the end'!r}")
        return int(token.text)

    def _read_inside(self, count: int) -> None:
        self._expect("<")
        for at in range(count):
            if at:
                self._expect(",")
            self.read_type()
        self._expect(">")

    def _read_struct(self) -> None:
        self._expect("<")
        if not self._take(">"):
            self.read_columns(end=">")
            self._expect(">")

    def _read_interval(self) -> None:
        units = ("year", "month", "day", "hour", "minute", "second")
        is_known = self._next().text.lower() in units
        if not is_known or (self._take("to") and self._next().text.lower() not in units):
            raise DdlError("an interval requires units, such as `interval day to second`")

    def expect_end(self) -> None:
        """Raise unless the text ends here."""
        if self._at < len(self._tokens):
            raise DdlError(f"expected `,` or the end before {self._describe()}")

    def _expect(self, sign: str) -> None:
        if not self._take(sign):
            raise DdlError(f"expected `{sign}` before {self._describe()}")

    def _take(self, text: str) -> bool:
        found = self._peek()
        if found.kind in ("word", "sign") and found.text.lower() == text:
            self._at += 1
            return True
        return False

    def _peek(self) -> _Token:
        return self._tokens[self._at] if self._at < len(self._tokens) else _Token("end", "")

    def _next(self) -> _Token:
        found = self._peek()
        self._at += 1
        return found

    def _describe(self) -> str:
        text = self._peek().text
        return repr(text) if text else "the end"


def _describe_unknown(column: str, token: _Token) -> str:
    where = f"the column {column!r}" if column else "a part of it"
    if token.kind == "end":
        return f"{where} has no type"
    near = find_nearest(token.text.lower(), TYPE_NAMES)
    meant = f"; did you mean `{near}`?" if near else f". Allowed: {', '.join(TYPE_NAMES)}"
    return f"{where} has the unknown type {token.text!r}{meant}"
