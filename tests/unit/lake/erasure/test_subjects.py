"""Subjects are hashed by columns and key with the secret of the lake, whatever engine has their values."""

import hashlib
import hmac
from datetime import date, datetime, timezone

import pytest

from headwater.errors import UsageError
from headwater.lake.erasure.subjects import Secret, SubjectHasher, parse_value, spell

SECRET = Secret(b"s" * 32)


def test_hash_is_an_hmac_of_columns_and_values() -> None:
    hasher = SubjectHasher.of(SECRET, ("Customer",))
    wanted = hmac.new(SECRET.derive("subjects"), b"8:customer|3:bob", hashlib.sha256).hexdigest()
    assert hasher.hash(["bob"]) == wanted


def test_pads_are_those_of_hmac() -> None:
    hasher = SubjectHasher.of(SECRET, ("a", "b"))
    message = (hasher.prefix + "1:x2:yz").encode()
    inner, outer = hasher.pads
    found = hashlib.sha256(outer + hashlib.sha256(inner + message).digest()).hexdigest()
    assert found == hasher.hash(["x", "yz"])


def test_values_of_two_columns_are_not_confused() -> None:
    hasher = SubjectHasher.of(SECRET, ("a", "b"))
    assert hasher.hash(["x", "yz"]) != hasher.hash(["xy", "z"])


def test_other_secret_or_column_is_another_hash() -> None:
    one = SubjectHasher.of(SECRET, ("a",)).hash(["x"])
    assert SubjectHasher.of(Secret(b"t" * 32), ("a",)).hash(["x"]) != one
    assert SubjectHasher.of(SECRET, ("b",)).hash(["x"]) != one


def test_secret_is_not_shown() -> None:
    assert "sss" not in repr(SECRET)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a b", "a b"),
        (17, "17"),
        (17.0, "17"),
        (17.5, None),
        (float("nan"), None),
        (1e300, None),
        (date(2026, 1, 31), "2026-01-31"),
        (None, None),
        (True, None),
        (datetime(2026, 1, 31, tzinfo=timezone.utc), None),
    ],
)
def test_text_of_a_value(value: object, text: str | None) -> None:
    assert spell(value) == text


def test_value_of_the_command_line_has_the_text_of_its_column() -> None:
    assert parse_value("017", "bigint", "id") == "17"
    assert parse_value("017", "string", "id") == "017"
    assert parse_value("2026-01-31", "date", "day") == "2026-01-31"


@pytest.mark.parametrize(
    ("text", "kind"),
    [("x", "bigint"), ("31.1.2026", "date"), ("1.5", "double"), ("\udcff", "string")],
)
def test_value_that_the_column_cannot_hold_is_refused(text: str, kind: str) -> None:
    with pytest.raises(UsageError, match="column id"):
        parse_value(text, kind, "id")
