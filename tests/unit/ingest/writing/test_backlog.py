"""When a table's batches wait for its compactions and clusterings."""

from typing import Any

import pytest

from headwater.config.table import TableConfig
from headwater.errors import BacklogError
from headwater.ingest.writing.backlog import check_backlog, count_due
from headwater.lake.timeline import Timeline
from headwater.lake.timeline.instants import Instant

MERGED = {"path": "*.json", "table_type": "merge_on_read", "services": "semi_async", "compact_after": 2}
COMPACTIONS = "2 compactions are due, and `max_pending_compactions` is 2"


class Instants:
    """A timeline reader over a list of actions."""

    def __init__(self, *instants: Instant) -> None:
        self._instants = instants

    def exists(self) -> bool:
        return True

    def list_active(self) -> tuple[Instant, ...]:
        return self._instants

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"{name} is not needed")


def write(minute: int) -> Instant:
    return Instant(f"202601010000{minute:02}000", "deltacommit", f"202601010000{minute:02}500")


def plan(minute: int, action: str = "compaction") -> Instant:
    return Instant(f"202601010000{minute:02}000", action, state="requested")


CLUSTERINGS = [plan(1, "clustering"), plan(2, "clustering")]


def load(*instants: Instant) -> Timeline:
    return Timeline(Instants(*instants))


@pytest.mark.parametrize(
    ("instants", "due"),
    [
        ([write(n) for n in range(9)], 0),  # its writer plans with the next commit
        ([write(1), plan(2)], 1),
        ([write(1), plan(2), write(3)], 1),
        ([write(1), plan(2), write(3), write(4)], 2),
        ([plan(1), plan(2), write(3), write(4), write(5)], 3),
        ([plan(2, "clustering"), *(write(n) for n in range(3, 9))], 0),
    ],
)
def test_plans_not_made_while_one_is_pending_count(instants: list[Instant], due: int) -> None:
    assert count_due(load(*instants), "compaction", every=2) == due


@pytest.mark.parametrize(
    ("changes", "instants", "reported"),
    [
        ({}, [plan(1), write(2), write(3)], COMPACTIONS),
        ({}, [plan(1), write(2)], None),
        ({"services": "async"}, [plan(1), write(2), write(3)], COMPACTIONS),
        ({"services": "inline"}, [plan(1), write(2), write(3)], None),
        ({"compact_after": None}, [plan(1), *(write(n) for n in range(2, 6))], None),
        ({"compact_after": None}, [plan(1), *(write(n) for n in range(2, 7))], COMPACTIONS),
        ({"clustering": {"after": 9}}, CLUSTERINGS, "2 clusterings are due"),
        ({}, CLUSTERINGS, None),
    ],
)
def test_next_batch_waits_at_the_limit(
    changes: dict[str, Any], instants: list[Instant], reported: str | None
) -> None:
    config = TableConfig.model_validate({**MERGED, **changes})
    config = config.model_copy(update={"max_pending_compactions": 2, "max_pending_clustering": 2})
    if reported is None:
        check_backlog("clicks", config, load(*instants))
        return
    with pytest.raises(BacklogError, match=reported) as caught:
        check_backlog("clicks", config, load(*instants))
    assert "headwater services run" in caught.value.hint
