"""The state of the pipeline for the server's page: the status, and the last commits of all tables."""

from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

from pydantic_core import to_jsonable_python

from headwater.app.status import StatusReader
from headwater.config.settings import Settings
from headwater.lake.layout import events_path, table_path
from headwater.lake.snapshot_reader import SnapshotReader
from headwater.lake.storage_options import build_storage_options

LAST_COMMITS = 12


def read_pipeline_state(settings: Settings) -> Mapping[str, Any]:
    """Return the state as JSON-like data. Raises `LakeError`."""
    options = build_storage_options(settings.lake, settings.lake_storage)
    status = StatusReader(settings, options, datetime.now(timezone.utc)).read()
    state: dict[str, Any] = to_jsonable_python(status)
    for table in state["tables"].values():
        # Hidden for the reason below.
        table["failure"] = "its batches are failing" if table["failure"] else ""
        if view := table["iceberg"]:
            failure = "updates of the Iceberg view are failing" if view["error"] else ""
            table["iceberg"] = {**view, "address": "", "metadata": "", "error": failure, "hint": ""}
    for note in state["catalogs"]:
        # Hidden for the reason below.
        note["error"], note["hint"] = "catalog sync failed" if note["error"] else "", ""
    state["last_commits"] = _list_last_commits(settings, options)
    # Hidden for the reason below.
    del state["sources"]
    if status.queue and status.queue.error:
        # The message contains paths and addresses; the page only needs to know whether the queue answers.
        state["queue"]["error"] = "the queue does not answer"
    return state


def _list_last_commits(settings: Settings, options: Mapping[str, str]) -> list[dict[str, str]]:
    paths = {"events": events_path(settings.lake)}
    paths |= {name: table_path(settings.lake, name) for name in settings.tables}
    found = []
    for name, path in paths.items():
        reader = SnapshotReader(path, options)
        if reader.exists():
            found += [
                {"table": name, "completed": commit.completed, "action": commit.action}
                for commit in reader.commit_names[-LAST_COMMITS:]
            ]
    return sorted(found, key=lambda commit: commit["completed"], reverse=True)[:LAST_COMMITS]
