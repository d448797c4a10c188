"""The chunks as they were, on a real table that is compacted, cleaned and archived meanwhile."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone

import pytest
from pyspark.sql import SparkSession

from headwater.lake.snapshot_reader import SnapshotReader
from headwater.rag.index_state import IndexState
from headwater.rag.indexing.chunks_table import CHUNKS_SCHEMA, ChunksTable
from headwater.rag.syncing.moments import Moment
from headwater.rag.syncing.past_chunks import PastChunks

pytestmark = pytest.mark.slow

FINGERPRINT = "f1"
COMMITS = 36
START = datetime(2026, 11, 21, tzinfo=timezone.utc)
Texts = dict[str, str]


def as_of(number: int) -> str:
    return f"{20261121000000000 + number}"


@dataclass
class Written:
    """A chunks table, and what was in it as of each of its commits."""

    spark: SparkSession
    path: str
    expected: dict[str, Texts] = field(default_factory=dict)
    moments: dict[str, Moment] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.table = ChunksTable(self.spark, self.path, FINGERPRINT)
        self.present: Texts = {}

    def commit(self, number: int, changes: Texts, *deleted: str) -> None:
        rows = [self._build_row(number, chunk_id, text) for chunk_id, text in changes.items()]
        rows += [self._build_row(number, chunk_id, None) for chunk_id in deleted]
        state = IndexState("t", as_of(number), "all", number, 2, "model")
        self.table.write(self.spark.createDataFrame(rows, CHUNKS_SCHEMA).coalesce(1), state)
        self.present = {**self.present, **changes}
        for chunk_id in deleted:
            del self.present[chunk_id]
        self.expected[as_of(number)] = dict(self.present)

    def read_past(self) -> PastChunks:
        return PastChunks(self.path, FINGERPRINT, {})

    def _build_row(self, number: int, chunk_id: str, text: str | None) -> tuple[object, ...]:
        values: dict[str, object] = {
            "fingerprint": FINGERPRINT,
            "chunk_id": chunk_id,
            "row_key": chunk_id,
            "chunk_number": 0,
            "text": text,
            "content_hash": f"{text}",
            "fields": "{}",
            "fields_hash": "",
            "vector": None if text is None else [float(number), 1.0],
            "content_revision": number,
            "deleted": text is None,
            "changed_at": START + timedelta(days=number),
        }
        return tuple(values.get(name) for name in CHUNKS_SCHEMA.fieldNames())


def read_texts(source: PastChunks, moment: Moment) -> Texts | None:
    chunks = source.read(moment)
    return None if chunks is None else {chunk.chunk_id: chunk.text for chunk in chunks}


@pytest.fixture(scope="module")
def written(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Written:
    found = Written(spark, str(tmp_path_factory.mktemp("lake") / "chunks"))
    source = found.read_past()
    for number in range(1, COMMITS):
        # One chunk changes in every commit, and one comes and goes.
        guest = {f"guest{number}": "here"} if number % 2 else {}
        gone = [] if number % 2 or number == 1 else [f"guest{number - 1}"]
        found.commit(number, {"a": f"a{number}", f"b{number % 7}": f"b{number}", **guest}, *gone)
        found.moments |= {moment.as_of: moment for moment in source.list_moments()}
    return found


def test_every_moment_on_offer_is_read_as_it_was(written: Written) -> None:
    source = written.read_past()
    moments = source.list_moments()
    # Of the last ten commits, compactions included, nothing is ever cleaned; of thirty none is archived.
    assert 9 <= len(moments) <= 30
    assert moments[-1].as_of == as_of(COMMITS - 1)
    assert {one.as_of: read_texts(source, one) for one in moments} == {
        one.as_of: written.expected[one.as_of] for one in moments
    }


def test_cleaned_states_are_not_offered_or_answered(written: Written) -> None:
    source = written.read_past()
    earliest = SnapshotReader(written.path).find_earliest_retained()
    gone = [moment for moment in written.moments.values() if moment.requested < earliest]
    assert len(gone) > 10
    assert not {moment.as_of for moment in gone} & {moment.as_of for moment in source.list_moments()}
    assert [read_texts(source, moment) for moment in gone] == [None] * len(gone)


def test_without_the_guard_rows_are_silently_missing(written: Written) -> None:
    # Why `find_earliest_retained` is asked: when this fails, hudi-rs tells by itself.
    oldest = written.moments[as_of(1)]
    rows = SnapshotReader(written.path).read(["chunk_id", "text"], as_of=oldest.requested)
    assert dict(zip(*rows.to_pydict().values(), strict=True)) != written.expected[oldest.as_of]


def test_the_instant_asked_of_hudi_is_the_requested_one(written: Written) -> None:
    reader = SnapshotReader(written.path)
    *_, before, last = reader.commit_names
    assert before.requested < before.completed < last.requested < last.completed

    def texts(instant: str) -> list[str]:
        return sorted(reader.read(["text"], as_of=instant)["text"].drop_null().to_pylist())

    assert texts(last.requested) == texts(last.completed)
    assert texts(before.completed) == texts(before.requested) != texts(last.requested)


def test_a_purge_takes_nothing_from_the_moments_before_it(written: Written) -> None:
    assert written.table.purge(START + timedelta(days=COMMITS + 30)) > 0
    source = written.read_past()
    moments = source.list_moments()
    assert (moments[-1].state.purged > "", moments[-1].as_of) == (True, moments[-2].as_of)
    for moment in moments:
        assert read_texts(source, moment) == written.expected[moment.as_of]


def test_more_commits_are_kept_when_asked_for(spark: SparkSession, written: Written) -> None:
    written.table = ChunksTable(spark, written.path, FINGERPRINT, keep_commits=30)
    before = {moment.as_of for moment in written.read_past().list_moments()}
    for number in range(COMMITS, COMMITS + 12):
        written.commit(number, {"a": f"a{number}"})
    source = written.read_past()
    moments = source.list_moments()
    assert before <= {moment.as_of for moment in moments}
    for moment in moments:
        assert read_texts(source, moment) == written.expected[moment.as_of]
