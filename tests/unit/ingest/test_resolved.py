"""Which items of quarantine an outcome makes obsolete."""

from dataclasses import replace

import pytest

from headwater.capture.control_events import RETRY_EVENT
from headwater.ingest.accounting import find_resolved
from headwater.ingest.planning.outcome import ObjectOutcome, OutcomeStatus
from tests.fixtures.events import build_event, build_stored

NOTIFIED = build_stored(build_event("a.json", etag="one"))
RETRIED = build_stored(replace(NOTIFIED.event, event_name=RETRY_EVENT, order_key=None, etag=None))


@pytest.mark.parametrize("mirrors", [True, False])
@pytest.mark.parametrize("status", ["ingested", "superseded", "quarantined"])
def test_a_retry_replaces_the_item_even_if_it_fails_again(status: OutcomeStatus, *, mirrors: bool) -> None:
    outcome = ObjectOutcome(RETRIED, status, "unparsable", version="one", etag="one")
    assert find_resolved(outcome, None, mirrors=mirrors) == ("landing", "a.json", None)


@pytest.mark.parametrize("mirrors", [True, False])
def test_a_notification_that_fails_resolves_nothing(*, mirrors: bool) -> None:
    outcome = ObjectOutcome(NOTIFIED, "quarantined", "unparsable", version="one", etag="one")
    assert find_resolved(outcome, None, mirrors=mirrors) is None
