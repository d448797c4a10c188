"""A table whose path was edited says so when it starts, and goes on with the new one."""

import logging

from headwater.app import App
from headwater.config.settings import Settings


def test_changed_path_is_reported_and_applies_to_new_events(build, spark, caplog):
    lake = build(things={"path": "a/*.json"})
    lake.put("a/1.json", '{"id": 1}\n')
    lake.ingest("things")
    assert "have changed" not in caplog.text
    data = lake.settings.model_dump(mode="json", by_alias=True, exclude_unset=True)
    data["tables"]["things"]["path"] = "b/*.json"
    lake.put("b/2.json", '{"id": 2}\n')
    pipeline = App(Settings.model_validate(data), spark=spark).build_pipeline("things")
    with caplog.at_level(logging.WARNING):
        pipeline.run_batch()
    assert "table things: path or filters have changed" in caplog.text
    assert lake.rows("things", "id") == [(1,), (2,)]
