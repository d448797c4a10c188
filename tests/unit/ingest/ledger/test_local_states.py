"""States of objects kept beside the process: what was put last is found, and nothing else."""

from dataclasses import replace
from typing import Any

from headwater.ingest.ledger.local_states import LocalStates
from headwater.ingest.ledger.state_text import format_state
from headwater.ingest.planning.ledger_entry import LedgerEntry

MANY = 2_000


def build_state(number: int, **values: Any) -> LedgerEntry:
    return replace(LedgerEntry(f"id-{number}", "s3", "landing", f"in/{number}.json"), **values)


def test_loaded_states_are_found_and_others_omitted() -> None:
    states = {f"id-{number}": build_state(number, rows=number) for number in range(MANY)}
    local = LocalStates((name, format_state(state)) for name, state in states.items())
    assert local.find(states.keys()) == states
    assert local.find(["id-7", "nobody", "id-8"]) == {name: states[name] for name in ("id-7", "id-8")}
    assert local.find(()) == {}


def test_last_put_wins() -> None:
    local = LocalStates()
    local.put([build_state(1, rows=1), build_state(2)])
    local.put([build_state(1, rows=5, detail="it's “odd”; DROP TABLE states")])
    assert local.find(["id-1"])["id-1"] == build_state(1, rows=5, detail="it's “odd”; DROP TABLE states")
    assert local.find(["id-2"])["id-2"] == build_state(2)
