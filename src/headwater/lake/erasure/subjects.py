"""Subjects, the values of key columns whose rows are erased, as keyed hashes. Pure.

A hash depends on the secret of the lake, the columns and their texts, but not on the table.
"""

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from headwater.errors import UsageError

_BLOCK_BYTES = 64
_INNER, _OUTER = 0x36, 0x5C
# Whole numbers up to here have one text, whether a column holds them as integers or as doubles.
MOST_EXACT = 10**15


@dataclass(frozen=True, slots=True)
class Secret:
    """The secret of a lake, from which the keys of hashes and signatures are derived."""

    value: bytes

    def derive(self, purpose: str) -> bytes:
        """Return the key for one purpose."""
        return hmac.new(self.value, purpose.encode(), hashlib.sha256).digest()

    def __repr__(self) -> str:
        return "Secret(...)"


@dataclass(frozen=True, slots=True)
class SubjectHasher:
    """Hashes the values of some columns with a lake's secret."""

    key: bytes
    columns: tuple[str, ...]

    @classmethod
    def of(cls, secret: Secret, columns: Sequence[str]) -> "SubjectHasher":
        """Return the hasher for these columns, whose names ignore case."""
        return cls(secret.derive("subjects"), tuple(columns))

    @property
    def prefix(self) -> str:
        """The beginning of each message that is hashed: the names of the columns."""
        return "".join(map(frame, (name.lower() for name in self.columns))) + "|"

    def hash(self, values: Sequence[str]) -> str:
        """Return the hash of one subject as hexadecimal text; `values` are in the order of the columns."""
        message = self.prefix + "".join(map(frame, values))
        return hmac.new(self.key, message.encode(), hashlib.sha256).hexdigest()

    @property
    def pads(self) -> tuple[bytes, bytes]:
        """The inner and the outer block of HMAC, for an engine that only has SHA-256."""
        block = self.key.ljust(_BLOCK_BYTES, b"\0")
        return bytes(byte ^ _INNER for byte in block), bytes(byte ^ _OUTER for byte in block)


def frame(text: str) -> str:
    """Return a text with its length in bytes, so that joined texts have one meaning only."""
    return f"{len(text.encode())}:{text}"


def spell(value: object) -> str | None:
    """Return the text by which a value is hashed; None for a null, and for types that cannot be a key."""
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, float):
        is_whole = value.is_integer() and abs(value) < MOST_EXACT
        return str(int(value)) if is_whole else None
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return value
    return value.isoformat() if type(value) is date else None


def parse_value(text: str, kind: str, column: str) -> str:
    """Return the text by which a value from the command line is hashed.

    `kind` is the type of the column in Spark's words, such as `bigint`. Raises `UsageError` for a value that
    the column cannot hold, and for a type that cannot be a key.
    """
    try:
        if kind == "string":
            # An argument that is not UTF-8 has surrogates.
            return text.encode().decode()
        if kind in ("tinyint", "smallint", "int", "bigint"):
            return str(int(text))
        if kind == "date":
            return date.fromisoformat(text).isoformat()
    except ValueError as error:
        raise UsageError(
            f"{text!r} is not a value of column {column}, whose type is {kind}",
            hint="texts are UTF-8, dates are written as 2026-01-31, numbers without separators",
        ) from error
    raise UsageError(
        f"column {column} of type {kind} cannot identify a subject",
        hint="choose columns of strings, whole numbers or dates with --by",
    )
