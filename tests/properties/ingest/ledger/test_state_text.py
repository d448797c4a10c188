"""A state is the same after it was text, whatever its key and its times."""

from datetime import timezone

from hypothesis import given
from hypothesis import strategies as st

from headwater.ingest.ledger.state_text import format_state, parse_state_text
from headwater.ingest.planning.ledger_entry import LedgerEntry

times = st.none() | st.datetimes(timezones=st.just(timezone.utc))


@given(st.builds(LedgerEntry, event_time=times, first_seen=times))
def test_a_state_is_the_same_after_it_was_text(state: LedgerEntry) -> None:
    assert parse_state_text(format_state(state)) == state
