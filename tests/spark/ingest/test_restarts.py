"""Rows exactly once, however the events are batched and however often the process starts anew."""

import os
import random
from collections import Counter

import pytest

from headwater.app import App
from headwater.app.objects.verify import Verify
from headwater.errors import LakeError
from headwater.lake.table import Table


@pytest.mark.parametrize("seed", [pytest.param(1, marks=pytest.mark.slow), 2])
@pytest.mark.slow
def test_rows_are_there_once_whatever_the_batches_and_restarts(build, seed):
    chance = random.Random(seed)
    tables = {f"t{limit}": {"path": "in/*.json", "max_files_per_trigger": limit} for limit in (1, 2, 3)}
    lake = build(**tables)
    pipelines = {name: lake.pipeline(name) for name in tables}
    count = 0
    for _ in range(4):
        names = []
        for _ in range(chance.randint(1, 4)):
            names.append(f"{chance.choice(['in', 'elsewhere'])}/{count}.json")
            lake.write(names[-1], f'{{"n": {count}}}\n{{"n": {count}}}\n')
            count += 1
        lake.announce(*names)
        for name in tables:
            for _ in range(chance.randint(0, 2)):
                if chance.random() < 0.4:
                    pipelines[name] = lake.pipeline(name)
                pipelines[name].run_batch()
            if chance.random() < 0.3:
                pipelines[name].save_checkpoint()
    expected = Counter(int(path.stem) for path in (lake.source / "in").glob("*.json") for _ in range(2))
    for name in tables:
        lake.ingest(name)
        assert Counter(n for (n,) in lake.rows(name, "n")) == expected, name
        newest = lake.app.events.find_newest()
        pipeline = lake.pipeline(name)
        while pipeline.run_batch() is not None:
            pass
        pipeline.save_checkpoint()
        assert lake.pipeline(name).position == newest


def test_data_commit_that_is_complete_and_seems_to_have_failed_is_not_repeated(build, monkeypatch):
    lake = build(things={"path": "**/*.json"})
    pipeline = lake.pipeline("things")
    write = Table.write

    def write_and_fail(table, *arguments):
        write(table, *arguments)
        raise LakeError("archiving failed")

    lake.put("a.json", '{"n": 1}\n')
    with monkeypatch.context() as patch:
        patch.setattr(Table, "write", write_and_fail)
        with pytest.raises(LakeError):
            pipeline.run_batch()
    lake.put("b.json", '{"n": 2}\n')
    while pipeline.run_batch() is not None:
        pass
    assert lake.rows("things", "n") == [(1,), (2,)]


@pytest.mark.slow
def test_contents_of_equal_size_and_time_are_ingested_once_each(build):
    """The file was rewritten before its event was read."""
    lake = build(added={"path": "*.json", "mode": "append"}, mirrored={"path": "*.json", "mode": "mirror"})
    path = lake.source / "a.json"
    etags = {}

    def write(number):
        path.write_text(f'{{"n": {number}}}\n')
        os.utime(path, (1_700_000_000, 1_700_000_000))
        captured = lake.capture("a.json")
        etags[number] = captured.event.etag
        return captured

    first, second = write(1), write(2)
    lake.append(first)
    assert [result.objects for result in lake.ingest("added")] == [{"superseded": 1}]
    lake.ingest("mirrored")
    assert lake.rows("mirrored", "n", "_headwater_version") == [(2, etags[2])]
    lake.append(second)
    for name in ("added", "mirrored"):
        lake.ingest(name)
        assert lake.rows(name, "n", "_headwater_version") == [(2, etags[2])], name
    lake.append(write(3))
    for name, wanted in {"added": [(2, etags[2]), (3, etags[3])], "mirrored": [(3, etags[3])]}.items():
        lake.ingest(name)
        assert lake.rows(name, "n", "_headwater_version") == wanted
    assert Verify(App(lake.settings, spark=lake.app.spark), deep=1).run().is_complete
