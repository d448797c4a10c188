"""Several processes append the events of one queue, which repeats messages: each event is read once."""

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from headwater.capture.shards import SharedCommit, find_overlap, find_repeated

EVENTS = st.sets(st.sampled_from("abcdef"), min_size=1)
SHARDS = 3


@dataclass
class Shard:
    """A process: it looks at the table, and commits later what it does not know."""

    known: set[str] = field(default_factory=set)
    seen: str = "00"
    pending: set[str] | None = None


@dataclass
class Table:
    """Commits in the order of their completion."""

    commits: list[SharedCommit] = field(default_factory=list)
    ids: dict[str, set[str]] = field(default_factory=dict)

    def look(self, shard: Shard, batch: set[str]) -> None:
        for completed, ids in self.ids.items():
            shard.known |= ids
            shard.seen = completed
        shard.pending = batch - shard.known

    def commit(self, shard: Shard) -> None:
        if shard.pending:
            completed = f"{len(self.commits) + 1:02}"
            self.commits.append(SharedCommit(completed, shard.seen))
            self.ids[completed] = shard.pending
            shard.known |= shard.pending
        shard.pending = None


# A shard looks with a batch in hand, or commits the one that it has.
STEPS = st.lists(st.tuples(st.integers(0, SHARDS - 1), EVENTS), max_size=25)


def build_table(steps: list[tuple[int, set[str]]]) -> Table:
    table, shards = Table(), [Shard() for _ in range(SHARDS)]
    for at, batch in steps:
        if shards[at].pending is None:
            table.look(shards[at], batch)
        else:
            table.commit(shards[at])
    for shard in shards:
        table.commit(shard)
    return table


def read(table: Table, start: int, size: int) -> list[tuple[str, str]]:
    """A page of commits, with no more of the table than a reader asks for."""
    page = table.commits[start : start + size]
    wanted = {commit.completed: table.ids[commit.completed] for commit in page}
    since = find_overlap(page)
    if since is not None:
        wanted |= {at: ids for at, ids in table.ids.items() if since < at < page[0].completed}
    repeated = find_repeated(page, wanted)
    return [
        (commit.completed, event_id)
        for commit in page
        for event_id in sorted(table.ids[commit.completed] - repeated.get(commit.completed, set()))
    ]


@given(STEPS, st.integers(1, 5))
def test_each_event_is_read_once_where_it_was_committed_first(
    steps: list[tuple[int, set[str]]], size: int
) -> None:
    table = build_table(steps)
    first: dict[str, str] = {}
    for completed, ids in table.ids.items():
        for event_id in ids:
            first.setdefault(event_id, completed)

    pages = [read(table, start, size) for start in range(0, len(table.commits), size)]

    found = [entry for page in pages for entry in page]
    assert sorted(found) == sorted((completed, event_id) for event_id, completed in first.items())


def test_what_one_process_wrote_is_read_as_it_is() -> None:
    commits = [SharedCommit("01", None), SharedCommit("02", None)]
    assert find_overlap(commits) is None
    assert find_repeated(commits, {"01": {"a"}, "02": {"a"}}) == {}
