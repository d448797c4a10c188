"""Bounds of a window, and the events that need no read because of it."""

from dataclasses import replace
from datetime import timedelta

import pytest

from headwater.capture.control_events import LISTED_EVENT, REPAIR_EVENT
from headwater.capture.stored_event import StoredEvent
from headwater.config.table import TableConfig
from headwater.ingest.planning.plan import Location, Scope
from headwater.ingest.planning.selection import build_selector
from headwater.ingest.planning.window import EVERYTHING, Window, build_window
from headwater.sources.lister import ListedObject
from tests.fixtures.events import START, build_event, build_stored

SECOND, HOUR = timedelta(seconds=1), timedelta(hours=1)
WINDOW = Window(START, START + HOUR)


@pytest.mark.parametrize(
    ("age", "is_in"),
    [(-SECOND, False), (0 * SECOND, True), (HOUR - SECOND, True), (HOUR, False)],
)
def test_a_window_has_its_beginning_and_not_its_end(age: timedelta, is_in: bool) -> None:
    assert WINDOW.has(START + age) is is_in
    assert EVERYTHING.has(START + age)


def test_a_listed_object_belongs_to_a_table_by_its_key_and_its_time() -> None:
    config = TableConfig(path=("a/*",), format="text", modified_after=START, modified_before=START + HOUR)
    scope = Scope((Location("s3", "landing"),), build_selector(config), window=build_window(config))
    keys_and_ages = [("a/1", 0 * HOUR), ("a/2", HOUR), ("b/1", 0 * HOUR)]
    found = [
        scope.includes_listed("landing", ListedObject(key, 1, "e", None, START + age))
        for key, age in keys_and_ages
    ]
    assert found == [True, False, False]


def at(age: timedelta, **fields: object) -> StoredEvent:
    return build_stored(replace(build_event(), event_time=START + age, **fields))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("stored", "is_out"),
    [
        # A notification is not older than its object, apart from differences of clocks.
        (at(-HOUR), True),
        (at(-SECOND), False),
        # The upload may have begun long before.
        (at(1000 * HOUR), False),
        (at(-HOUR, provider="local"), False),
        (at(-HOUR, kind="removed"), False),
        (at(-HOUR, kind="restored"), False),
        (replace(at(-HOUR, event_name=REPAIR_EVENT, order_key=None), source="listing"), False),
        (replace(at(-SECOND, event_name=LISTED_EVENT, order_key=None), source="listing"), True),
        (replace(at(HOUR, event_name=LISTED_EVENT, order_key=None), source="listing"), True),
        (replace(at(SECOND, event_name=LISTED_EVENT, order_key=None), source="listing"), False),
    ],
)
def test_an_event_needs_no_read_if_its_object_is_certainly_outside(stored: StoredEvent, is_out: bool) -> None:
    assert WINDOW.rules_out(stored) is is_out
    assert not EVERYTHING.rules_out(stored)
