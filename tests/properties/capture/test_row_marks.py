"""The order of marks is the order in which HoodieStreamer's jobs read the rows of an events table."""

from hypothesis import given
from hypothesis import strategies as st

from headwater.app.adoption.checkpoints import EventsCheckpoint, find_bound, parse_checkpoint
from headwater.capture.row_marks import build_mark
from headwater.lake.timeline import Commit

INSTANTS = st.integers(0, 20).map(lambda number: f"202601010000{number:05}")
KEYS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
ROWS = st.tuples(INSTANTS, KEYS)


def is_covered(row: tuple[str, str], checkpoint: EventsCheckpoint) -> bool:
    return build_mark(*row).encode() <= find_bound(checkpoint, ()).encode()


@given(ROWS, INSTANTS, st.none() | KEYS)
def test_a_row_is_covered_as_the_job_compares_it(row: tuple[str, str], instant: str, key: str | None) -> None:
    checkpoint = EventsCheckpoint(instant, key)
    # The job compares one text: the commit and the key after it.
    within = "".join(row).encode() <= f"{instant}{key}".encode()
    assert is_covered(row, checkpoint) == (row[0] <= instant if key is None else within)


@given(INSTANTS, st.none() | KEYS)
def test_a_checkpoint_is_read_back_from_its_text(instant: str, key: str | None) -> None:
    text = instant if key is None else f"{instant}#{key}"
    assert parse_checkpoint(text) == EventsCheckpoint(instant, key)


@given(st.lists(INSTANTS, unique=True, max_size=6), INSTANTS, ROWS)
def test_completion_times_of_one_writer_divide_rows_as_requested_times_do(
    requested: list[str], at: str, row: tuple[str, str]
) -> None:
    commits = [Commit(str(int(one) + 1).zfill(17), one, "commit") for one in sorted(requested)]
    if row[0] not in requested:
        return
    completed = next(one.completed for one in commits if one.requested == row[0])
    bound = find_bound(EventsCheckpoint(at, by_completion=True), commits)
    assert (build_mark(*row).encode() <= bound.encode()) == (completed <= at)
