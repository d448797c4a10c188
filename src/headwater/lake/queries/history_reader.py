"""The files of a timeline, as one history."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from headwater.errors import LakeError
from headwater.lake.inspection.properties import parse_properties
from headwater.lake.options import (
    CDC_ENABLED_PROPERTY,
    RECORD_KEY_PROPERTY,
    TABLE_PROPERTIES_FILE,
    TABLE_TYPE_PROPERTY,
    TIMELINE_LAYOUT_PROPERTY,
    TIMELINE_ZONE_PROPERTY,
)
from headwater.lake.queries.history import TableHistory
from headwater.lake.timeline_files import (
    TIMELINE_FOLDER,
    CommitName,
    TableFiles,
    find_clean_plan,
    parse_clean_plan,
    parse_commit_name,
    read_avro,
)

ARCHIVE_FOLDER = f"{TIMELINE_FOLDER}/history"
_BEGUN = re.compile(r"(?P<requested>\d{14,17})\.((commit|deltacommit|replacecommit)\.requested|inflight)")
_DONE = re.compile(r"(?P<requested>\d{14,17})_(?P<completed>\d{14,17})\.(?P<action>\w+)")
_WRITES = frozenset({"commit", "deltacommit", "replacecommit"})
_LAYOUT = "2"


def load_history(path: str, files: TableFiles, back_to: str) -> TableHistory:
    """What the timeline tells now, with archived commits when `back_to` lies before the active ones.

    Raises `LakeError` for a timeline of before Hudi 1.0, whose files do not tell when commits completed, and
    `OSError` and `ValueError` for files that cannot be read.
    """
    properties = parse_properties(files.read(TABLE_PROPERTIES_FILE).decode())
    if properties.get(TIMELINE_LAYOUT_PROPERTY) != _LAYOUT:
        raise LakeError(
            f"{path}: only the newest state can be read: its timeline is of before Hudi 1.0",
            hint="the next write by Hudi 1 upgrades the table",
        )
    sizes = files.list_sizes(TIMELINE_FOLDER)
    names = [name for name in map(parse_commit_name, sizes) if name is not None]
    plan = find_clean_plan(sizes)
    earliest = parse_clean_plan(plan, files.read(f"{TIMELINE_FOLDER}/{plan}")) if plan else ""
    archived: list[CommitName] = []
    if not names or back_to < min(names).completed:
        archived, archived_earliest = _read_archive(files)
        earliest = earliest or archived_earliest
    is_mor = properties.get(TABLE_TYPE_PROPERTY) == "MERGE_ON_READ"
    changing = [name for name in names if _changes_rows(name, is_mor, files)]
    known = {name.requested for name in (*names, *archived)}
    return TableHistory(
        path=path,
        commits=tuple(sorted({*changing, *archived})),
        pending=tuple(sorted(set(_iter_begun(sizes)) - known)),
        earliest_retained=earliest,
        restores=tuple(_iter_restores(files, sizes)),
        newest_archived=max((name.completed for name in archived), default=""),
        is_utc=properties.get(TIMELINE_ZONE_PROPERTY) == "UTC",
        has_change_log=properties.get(CDC_ENABLED_PROPERTY) == "true",
        record_key=tuple(filter(None, properties.get(RECORD_KEY_PROPERTY, "").split(","))),
    )


def _changes_rows(name: CommitName, is_mor: bool, files: TableFiles) -> bool:
    """Table services only rewrite: of a merge-on-read table each `commit` is a compaction."""
    if name.action == "replacecommit":
        content = files.read(f"{TIMELINE_FOLDER}/{name.requested}_{name.completed}.{name.action}")
        return str(read_avro(content).get("operationType")).upper() != "CLUSTER"
    return not (is_mor and name.action == "commit")


def _iter_begun(sizes: Mapping[str, int]) -> Iterator[str]:
    for name in sizes:
        if found := _BEGUN.fullmatch(name):
            yield found["requested"]


def _iter_restores(files: TableFiles, sizes: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    for name in sizes:
        found = _DONE.fullmatch(name)
        if found and found["action"] == "restore":
            taken_back = read_avro(files.read(f"{TIMELINE_FOLDER}/{name}")).get("instantsToRollback") or []
            if taken_back:
                yield found["completed"], min(str(instant) for instant in taken_back)


def _read_archive(files: TableFiles) -> tuple[list[CommitName], str]:
    """The archived commits, and the oldest commit that the newest archived clean left whole."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows: list[dict[str, Any]] = []
    for name in _list_archive_files(files):
        source = pa.BufferReader(files.read(f"{ARCHIVE_FOLDER}/{name}"))
        columns = ["instantTime", "completionTime", "action", "plan"]
        rows += pq.read_table(
            source, columns=columns, filters=[("action", "in", [*_WRITES, "clean"])]
        ).to_pylist()
    commits = {
        CommitName(row["completionTime"], row["instantTime"], row["action"])
        for row in rows
        if row["action"] in _WRITES and row["completionTime"]
    }
    cleans = [row for row in rows if row["action"] == "clean" and row["plan"]]
    newest = max(cleans, key=lambda row: str(row["instantTime"]), default=None)
    return sorted(commits), parse_clean_plan(newest["instantTime"], newest["plan"]) if newest else ""


def _list_archive_files(files: TableFiles) -> list[str]:
    """Those of the newest manifest: older files may have been merged into newer ones."""
    names = files.list_sizes(ARCHIVE_FOLDER)
    if "_version_" not in names:
        return []
    version = files.read(f"{ARCHIVE_FOLDER}/_version_").decode().strip()
    manifest = json.loads(files.read(f"{ARCHIVE_FOLDER}/manifest_{version}"))
    return [str(file["fileName"]) for file in manifest["files"]]
