"""What becomes of each object of a batch, from the store to the rows that Spark gets."""

import gzip
import io
import json
import pickle
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headwater.errors import CredentialsError, ObjectUnavailableError, SourceUnavailableError
from headwater.ingest.evolution.schema_sample import parse_schema_sample
from headwater.ingest.fetching import download
from headwater.ingest.fetching.object_fetch import FetchPlan, fetch_objects
from headwater.ingest.fetching.outcome_rows import FetchOutcome
from headwater.ingest.fetching.row_batches import MAX_BATCH_BYTES, MAX_BATCH_ROWS
from headwater.ingest.formats.document import DOCUMENT_SCHEMA
from headwater.ingest.formats.markers import OVERSIZE
from headwater.ingest.planning.window import Window
from headwater.sources.local.object_store import LocalObjectStore
from headwater.sources.memory.object_store import MemoryObjectStore, load_memory_store
from headwater.sources.object_store import (
    ObjectContent,
    ObjectRef,
    ObjectState,
    ObjectStore,
    ObjectStoreConfig,
)
from tests.fixtures.written_files import write_tar, write_zip

REQUEST_SCHEMA = pa.schema(
    [
        ("object_index", pa.int32()),
        ("provider", pa.string()),
        ("bucket", pa.string()),
        ("key", pa.string()),
        ("version_id", pa.string()),
        ("etag", pa.string()),
        ("size", pa.int64()),
    ]
)
SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])


class Bench:
    """A memory store of its own, and one call to read from it."""

    def __init__(self) -> None:
        self.config = ObjectStoreConfig("memory", name=uuid.uuid4().hex)
        self.objects: MemoryObjectStore = load_memory_store(self.config.name)

    def put(self, key: str, data: bytes | str) -> ObjectRef:
        state = self.objects.put("b", key, data.encode() if isinstance(data, str) else data)
        return ObjectRef("memory", "b", key, state.version_id, state.etag, state.size)

    def plan(self, name: str = "json", **changes: object) -> FetchPlan:
        values: dict[str, object] = {
            "store": self.config,
            "format": name,
            "options": {},
            "columns": ("id", "name"),
            "arrow_schema": SCHEMA.serialize().to_pybytes(),
            "max_object_bytes": 10**8,
            "max_record_bytes": 10**8,
        }
        return FetchPlan(**values | changes)  # type: ignore[arg-type]

    def fetch(self, refs: Sequence[ObjectRef], plan: FetchPlan | None = None) -> list[pa.RecordBatch]:
        rows = [
            {
                "object_index": index,
                "provider": ref.provider,
                "bucket": ref.bucket,
                "key": ref.key,
                "version_id": ref.version_id,
                "etag": ref.etag,
                "size": ref.size,
            }
            for index, ref in enumerate(refs)
        ]
        batches = pa.Table.from_pylist(rows, REQUEST_SCHEMA).to_batches(max_chunksize=7)
        return list(fetch_objects(iter(batches), plan or self.plan()))


@pytest.fixture
def bench() -> Bench:
    return Bench()


def outcomes(batches: Sequence[pa.RecordBatch]) -> dict[int, dict[str, object]]:
    found = [row for batch in batches for row in batch.to_pylist() if row["outcome"] is not None]
    assert all(row["row_number"] is None and row["value"] is None for row in found)
    indexes = [row["object_index"] for row in found]
    assert len(set(indexes)) == len(indexes), "an object has two outcomes"
    return {row["object_index"]: row["outcome"] for row in found}


def records(batches: Sequence[pa.RecordBatch]) -> list[tuple[int, int, object]]:
    rows = [row for batch in batches for row in batch.to_pylist() if row["outcome"] is None]
    return sorted((row["object_index"], row["row_number"], row["value"]) for row in rows)


def write_parquet(**columns: object) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue()


def test_rows_and_one_outcome_an_object(bench: Bench) -> None:
    refs = [bench.put("a.json", '{"id":1}\n{"id":2}\n'), bench.put("b.json.gz", gzip.compress(b'{"id":3}'))]

    found = bench.fetch(refs)

    assert records(found) == [(0, 1, '{"id":1}'), (0, 2, '{"id":2}'), (1, 1, '{"id":3}')]
    assert {i: (o["status"], o["rows"], o["bytes"]) for i, o in outcomes(found).items()} == {
        0: ("read", 2, 18),
        1: ("read", 1, refs[1].size),
    }
    assert outcomes(found)[0]["version_id"] == refs[0].version_id


def test_the_output_has_the_promised_schema_even_without_rows(bench: Bench) -> None:
    for name, kind in (("json", pa.string()), ("parquet", pa.struct(list(SCHEMA)))):
        (batch,) = bench.fetch([bench.put("empty", b"")], bench.plan(name))
        assert batch.schema.names == ["object_index", "row_number", "value", "outcome"]
        assert batch.schema.field("object_index").type == pa.int32()
        assert batch.schema.field("value").type == kind
        assert batch.schema.field("outcome").type.get_field_index("present_size") == 9


def test_no_objects_give_nothing(bench: Bench) -> None:
    assert bench.fetch([]) == []


def test_objects_without_bytes_are_skipped(bench: Bench) -> None:
    refs = [bench.put("empty.json", b""), bench.put("folder/", b"")]
    unsized = [ObjectRef("memory", "b", ref.key) for ref in refs]

    for asked in (refs, unsized):
        found = outcomes(bench.fetch(asked))
        assert [(found[n]["status"], found[n]["reason"]) for n in (0, 1)] == [
            ("skipped", "empty_object"),
            ("skipped", "folder_marker"),
        ]


PARTS = {
    "b.csv": b"id,name\n1,one\n\n2,two\n",
    "a.csv": b"name,id\nthree,3\n",
    "c.csv": b"id\n4\n",
}


@pytest.mark.parametrize("write", [write_zip, write_tar])
def test_rows_of_all_members_are_numbered_through(bench: Bench, write: Callable[..., bytes]) -> None:
    key = "a.zip" if write is write_zip else "a.tar"
    ref = bench.put(key, write(PARTS))

    found = bench.fetch([ref], bench.plan("csv", options={"header": "true"}))

    # The physical lines of each member, after those of the member before.
    assert records(found) == [(0, 2, "1,one"), (0, 4, "2,two"), (0, 6, "3,three"), (0, 8, "4,")]
    outcome = outcomes(found)[0]
    assert (outcome["status"], outcome["rows"], outcome["bytes"]) == ("read", 4, ref.size)
    assert outcome["detail"] == "columns missing (1): name"


def test_one_bad_member_rejects_its_archive(bench: Bench) -> None:
    good = write_parquet(id=[1], name=["a"])
    refs = [
        bench.put("a.zip", write_zip({"1.parquet": good, "2.parquet": b"PAR1 no"})),
        bench.put("b.zip", write_zip({"1.parquet": good, "2.parquet": write_parquet(id=[2])})),
        bench.put("c.zip", write_zip({"1.txt": b"x"})),
        bench.put("d.zip", write_zip({"1.parquet": b""})),
    ]

    found = bench.fetch(refs, bench.plan("parquet", options={"members": "*.parquet"}))

    assert records(found) == [(1, 1, {"id": 1, "name": "a"}), (1, 2, {"id": 2, "name": None})]
    by_index = outcomes(found)
    assert [by_index[n]["status"] for n in range(4)] == ["quarantined", "read", "quarantined", "read"]
    assert "a.zip!/2.parquet" in str(by_index[0]["detail"])
    assert "no file that matches '*.parquet'" in str(by_index[2]["detail"])


@pytest.mark.parametrize("rescues", [False, True])
def test_columns_of_every_member_are_reported(bench: Bench, rescues: bool) -> None:
    lines = {"1": b'{"id":1}\n', "2": b'{"id":2,"x":1}\n', "3": b'{"id":3,"y":"t"}\n'}
    tables = {"1": write_parquet(id=[1]), "2": write_parquet(id=[2], x=[1]), "3": write_parquet(y=["t"])}
    for name, files in (("json", lines), ("parquet", tables)):
        plan = bench.plan(name, reports=True, rescues=rescues)
        found = bench.fetch([bench.put(f"{name}.zip", write_zip(files))], plan)
        sample = parse_schema_sample(str(outcomes(found)[0]["schema_sample"]))
        names = sample.columns.names if sample.columns is not None else list(sample.records)
        assert "x" in str(names)
        assert "y" in str(names)
        if rescues:
            rescued = [row["rescued"] for batch in found for row in batch.to_pylist() if not row["outcome"]]
            assert [json.loads(text) if text else None for text in rescued] == [None, {"x": 1}, {"y": "t"}]


def test_a_removed_object_is_missing(bench: Bench) -> None:
    ref = bench.put("a", "1")
    bench.objects.remove("b", "a")

    found = outcomes(bench.fetch([ObjectRef("memory", "b", "a", None, ref.etag, 1)]))[0]

    assert (found["status"], found["reason"], found["present_etag"]) == ("missing", "missing", None)


def test_overwritten_object_is_superseded_with_the_new_version(bench: Bench) -> None:
    old = bench.put("a", "1")
    new = bench.put("a", "22")
    asked = [ObjectRef("memory", "b", "a", None, old.etag, 1), ObjectRef("memory", "b", "a", "v9", "x", 1)]

    found = outcomes(bench.fetch(asked))

    for index in (0, 1):
        assert found[index]["status"] == "superseded"
        assert (found[index]["present_etag"], found[index]["present_version_id"]) == (
            new.etag,
            new.version_id,
        )
        assert found[index]["present_size"] == 2
    assert found[0]["etag"] == old.etag


def test_a_bad_object_is_quarantined_and_the_others_land(bench: Bench) -> None:
    refs = [
        bench.put("good", '{"id":1}'),
        bench.put("cut.gz", gzip.compress(b'{"id":1}\n' * 100)[:-5]),
        bench.put("junk", bytes(range(128, 256)) * 7),
        bench.put("big", b"x" * 1001),
        bench.put("bomb.gz", gzip.compress(bytes(10_000))),
        bench.put("good2", '{"id":2}'),
    ]

    found = bench.fetch(refs, bench.plan(max_object_bytes=1000))

    assert [(o["status"], o["reason"]) for _, o in sorted(outcomes(found).items())] == [
        ("read", None),
        ("quarantined", "unparsable"),
        ("quarantined", "unparsable"),
        ("quarantined", "oversize"),
        ("quarantined", "oversize"),
        ("read", None),
    ]
    assert records(found) == [(0, 1, '{"id":1}'), (5, 1, '{"id":2}')]
    assert "cut.gz" in str(outcomes(found)[1]["detail"])


def test_a_record_that_is_too_large_is_marked_and_the_others_remain(bench: Bench) -> None:
    large, exact = f'{{"name":"é{"x" * 5_000}"}}', f'{{"name":"{"é" * 494}"}}'
    found = bench.fetch([bench.put("k", f'{{"id":1}}\n{large}\n{exact}')], bench.plan(max_record_bytes=999))
    assert len(exact.encode()) == 999
    assert records(found) == [(0, 1, '{"id":1}'), (0, 2, OVERSIZE + large[:1_000]), (0, 3, exact)]


def test_a_key_that_leads_out_of_the_folder_is_forbidden(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "secret").write_text("secret")
    ref = ObjectRef("local", str(tmp_path / "in"), "../secret")

    found = bench.fetch([ref], bench.plan(store=ObjectStoreConfig("local")))

    assert (outcomes(found)[0]["status"], outcomes(found)[0]["reason"]) == ("quarantined", "forbidden")


def test_columns_get_table_types_and_differences_are_reported(bench: Bench) -> None:
    refs = [
        bench.put("a", write_parquet(name=["x"], id=pa.array([1], pa.int32()))),
        bench.put("b", write_parquet(id=[2], more=[3])),
        bench.put("c", write_parquet(id=["seven"])),
        bench.put("d", write_parquet(id=pa.array([], pa.int64()))),
        bench.put("e", b"PAR1 and no more"),
    ]

    found = bench.fetch(refs, bench.plan("parquet"))

    assert records(found) == [(0, 1, {"id": 1, "name": "x"}), (1, 1, {"id": 2, "name": None})]
    reported = outcomes(found)
    assert reported[1]["detail"] == "columns dropped (1): more; columns missing (1): name"
    assert (reported[2]["status"], reported[2]["reason"]) == ("quarantined", "schema")
    assert "column id of memory://b/c has type string; the table's type is int64" in str(
        reported[2]["detail"]
    )
    assert (reported[3]["status"], reported[3]["rows"]) == ("read", 0)
    assert (reported[4]["status"], reported[4]["reason"]) == ("quarantined", "unparsable")


def test_csv_headers_are_followed(bench: Bench) -> None:
    found = bench.fetch([bench.put("a", "name,id\nx,1\n")], bench.plan("csv", options={"header": "true"}))
    assert records(found) == [(0, 2, "1,x")]


def test_batches_are_bounded_in_rows_and_bytes_and_keep_the_outcome_last(bench: Bench) -> None:
    refs = [
        bench.put("many", "1\n" * (MAX_BATCH_ROWS * 2 + 5)),
        bench.put("wide", ("x" * 1_000_000 + "\n") * 20),
        bench.put("one", "1"),
    ]

    found = bench.fetch(refs)

    assert len(records(found)) == MAX_BATCH_ROWS * 2 + 5 + 20 + 1
    assert all(batch.num_rows <= MAX_BATCH_ROWS + 3 for batch in found)
    assert all(batch.nbytes < MAX_BATCH_BYTES * 1.2 for batch in found)
    rows = [row for batch in found for row in batch.to_pylist()]
    for index in range(3):
        own = [row for row in rows if row["object_index"] == index]
        assert own[-1]["outcome"]["rows"] == len(own) - 1


def test_every_object_is_accounted_for_with_any_number_of_threads(bench: Bench) -> None:
    refs = [bench.put(f"k{n}", f'{{"id":{n}}}\n' * (n % 5)) for n in range(300)]

    for threads in (1, 32):
        found = bench.fetch(refs, bench.plan(threads=threads))
        assert sorted(outcomes(found)) == list(range(300))
        assert len(records(found)) == sum(n % 5 for n in range(300))


def test_few_fetched_bytes_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []

    class CountingStore(LocalObjectStore):
        def read(self, ref: ObjectRef, max_bytes: int | None = None) -> ObjectContent:
            read.append(ref.size or 0)
            return ObjectContent(b"x", ObjectState("e", None, 1, None))  # type: ignore[arg-type]

    size = download.MAX_WAITING_BYTES // 4
    requests = (download.FetchRequest(n, ObjectRef("x", "b", str(n), None, None, size)) for n in range(40))
    taken = 0
    for _ in download.iter_downloads(requests, CountingStore(), 10**9, 8):
        taken += 1
        assert len(read) <= taken + 4
    assert taken == 40


class _FailingStore(LocalObjectStore):
    def __init__(self, error: Exception, good: frozenset[str] = frozenset()) -> None:
        self._error = error
        self._good = good

    def read(self, ref: ObjectRef, max_bytes: int | None = None) -> ObjectContent:
        if ref.key in self._good:
            return ObjectContent(b"x", ObjectState("e", None, 1, None))  # type: ignore[arg-type]
        raise self._error


def download_all(store: ObjectStore, count: int) -> list[download.Download]:
    requests = (download.FetchRequest(n, ObjectRef("x", "b", str(n), None, None, 1)) for n in range(count))
    return list(download.iter_downloads(requests, store, 10**6, 2))


def test_wrong_credentials_end_the_batch() -> None:
    with pytest.raises(CredentialsError, match="expired"):
        download_all(_FailingStore(CredentialsError("the token has expired")), 5)


def test_an_outage_ends_the_batch_instead_of_retrying_every_object() -> None:
    with pytest.raises(SourceUnavailableError, match="none of 16 objects could be read; last: 503"):
        download_all(_FailingStore(ObjectUnavailableError("503")), 1000)


def test_objects_that_are_unavailable_among_good_ones_are_outcomes() -> None:
    found = download_all(_FailingStore(ObjectUnavailableError("503"), frozenset({"0"})), 100)
    statuses = [d.result.status for d in found if not isinstance(d.result, ObjectContent)]
    assert statuses == ["unavailable"] * 99


def test_the_plan_travels_to_executors(bench: Bench) -> None:
    plan = bench.plan()
    assert pickle.loads(pickle.dumps(plan)) == plan


def test_stopping_early_leaves_no_threads_behind(bench: Bench) -> None:
    refs = [bench.put(f"k{n}", "1\n" * MAX_BATCH_ROWS) for n in range(50)]
    rows = [
        {"object_index": n, **{f: getattr(r, f) for f in REQUEST_SCHEMA.names[1:]}}
        for n, r in enumerate(refs)
    ]
    stream = fetch_objects(pa.Table.from_pylist(rows, REQUEST_SCHEMA).to_batches(), bench.plan())

    assert next(stream).num_rows > 0
    stream.close()  # type: ignore[attr-defined]


def test_an_object_outside_the_window_is_skipped_whatever_it_holds(bench: Bench) -> None:
    refs = [bench.put("bad.json", "{"), bench.put("empty.json", ""), bench.put("good.json", '{"id": 1}')]
    plan = bench.plan(window=Window(before=datetime(2026, 1, 1, tzinfo=timezone.utc)))
    batches = bench.fetch([*refs, replace(refs[1], size=0)], plan)
    found = outcomes(batches)
    assert {(one["status"], one["reason"]) for one in found.values()} == {("skipped", "outside_window")}
    assert [found[at]["etag"] for at in range(3)] == [ref.etag for ref in refs]
    assert records(batches) == []


@pytest.mark.parametrize(
    ("size", "is_known", "limit", "downloads"),
    [
        pytest.param(1000, True, 10**8, 1, id="small"),
        pytest.param(1024**2, True, 10**8, 0, id="large"),
        pytest.param(1000, False, 10**8, 0, id="of unknown size"),
        pytest.param(1000, True, 10, 0, id="too large for the table"),
    ],
)
def test_a_large_object_outside_the_window_is_not_downloaded(
    size: int, is_known: bool, limit: int, downloads: int
) -> None:
    class CountingStore(MemoryObjectStore):
        downloads = 0

        def read(self, ref: ObjectRef, max_bytes: int | None = None) -> ObjectContent:
            self.downloads += 1
            return super().read(ref, max_bytes)

    store = CountingStore()
    state = store.put("bucket", "key", b"1" * size)
    ref = ObjectRef("memory", "bucket", "key", state.version_id, state.etag, size if is_known else None)
    window = Window(before=state.last_modified)
    found = download.download(store, ref, limit, window)
    assert isinstance(found, FetchOutcome)
    assert (found.status, found.reason, store.downloads) == ("skipped", "outside_window", downloads)


def test_hostile_documents_share_a_budget_and_the_others_of_the_task_are_read(bench: Bench) -> None:
    hostile = [bench.put(f"hostile{at}.md", b"* a\n" * 500_000) for at in range(6)]
    packed = bench.put("hostile.zip", write_zip({"a.md": b"# A\n", "b.md": b"* a\n" * 500_000}))
    good = [bench.put(f"good{at}.md", f"# Title {at}\n") for at in range(20)]
    schema = DOCUMENT_SCHEMA.serialize().to_pybytes()
    plan = bench.plan("document", arrow_schema=schema, options={"timeoutSeconds": "0.2"})

    found = bench.fetch([*hostile, packed, *good], plan)

    values = [value for _, _, value in records(found)]
    assert [value["title"] for value in values if isinstance(value, dict)] == [
        f"Title {at}" for at in range(20)
    ]
    seen = outcomes(found)
    assert {seen[at]["reason"] for at in range(7)} == {"slow"}
    assert {seen[at]["status"] for at in range(7, 27)} == {"read"}


def test_an_archive_of_slow_documents_is_given_up_as_a_whole(bench: Bench) -> None:
    # Each takes a twentieth of its limit, and all of them eighty times its limit.
    members = {f"{at}.md": b"* a\n" * 175 for at in range(1600)}
    refs = [bench.put("slow.zip", write_zip(members)), bench.put("good.md", b"# A\n")]
    plan = bench.plan(
        "document", arrow_schema=DOCUMENT_SCHEMA.serialize().to_pybytes(), options={"timeoutSeconds": "0.15"}
    )

    found = bench.fetch(refs, plan)

    outcome = outcomes(found)[0]
    assert outcome["reason"] == "slow"
    assert "the documents of its archive take too long together" in str(outcome["detail"])
    assert outcomes(found)[1]["status"] == "read"
