"""Which query options ask for, and which options cannot be combined."""

import pytest

from headwater.errors import UsageError
from headwater.lake.queries.query import Query, choose_query

NOTHING = {"as_of": None, "changes_since": None, "cdc": False, "read_optimized": False}
T = "20261121060030193"


@pytest.mark.parametrize(
    ("options", "query"),
    [
        ({}, Query()),
        ({"read_optimized": True}, Query("read_optimized")),
        ({"as_of": T}, Query("as_of", instant=T)),
        ({"as_of": "2026-11-21"}, Query("as_of", instant="20261121000000000", names_time=True)),
        ({"changes_since": "earliest"}, Query("changes")),
        ({"changes_since": T}, Query("changes", since=T)),
        ({"changes_since": T, "cdc": True}, Query("cdc", since=T)),
    ],
)
def test_options_choose_one_query(options, query):
    assert choose_query(**{**NOTHING, **options}) == query


@pytest.mark.parametrize(
    ("options", "expected_message"),
    [
        ({"as_of": T, "changes_since": T}, "--as-of and --changes-since cannot be combined"),
        ({"as_of": T, "read_optimized": True}, "--as-of and --read-optimized cannot be combined"),
        ({"changes_since": T, "read_optimized": True}, "--changes-since and --read-optimized cannot"),
        ({"cdc": True}, "--cdc requires --changes-since"),
        ({"cdc": True, "as_of": T}, "--cdc requires --changes-since"),
        ({"as_of": "earliest"}, "'earliest' is not a point in time"),
        ({"changes_since": "soon"}, "'soon' is not a point in time"),
    ],
)
def test_incompatible_options_are_rejected(options, expected_message):
    with pytest.raises(UsageError, match=expected_message):
        choose_query(**{**NOTHING, **options})


def test_window_has_to_end_behind_its_begin():
    assert Query.changes("2026-11-21", "2026-11-22").until == "20261122000000000"
    with pytest.raises(UsageError, match="until 2026-11-20 is before since 2026-11-21"):
        Query.changes("2026-11-21", "2026-11-20")
