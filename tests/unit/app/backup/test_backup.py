"""A lake of tables of every kind is backed up and restored; what cannot be is refused with the reason."""

import json
import shutil
from datetime import datetime, timezone
from pathlib import Path

import pytest

from headwater.app.backup.backup import BackupReport, back_up_lake
from headwater.app.backup.destination import MANIFEST
from headwater.app.backup.locations import check_destination
from headwater.app.backup.manifest import format_manifest, parse_manifest
from headwater.app.backup.restore import RestoreReport, iter_next_steps, restore_lake
from headwater.app.lake_identity import ensure_usable_lake
from headwater.app.restore_state import RESTORE_FILE, RestoreState, find_restore
from headwater.config.settings import Settings
from headwater.config.source import AzureSourceConfig
from headwater.errors import LakeError, TableDamagedError, UsageError
from headwater.lake.damage import check_files
from headwater.lake.file_store import compute_checksum
from headwater.lake.layout import find_address, list_tables
from headwater.lake.snapshot_reader import SnapshotReader
from tests.fixtures.lakes import BUCKET, FIXTURE_LAKE

TABLES = ("orders_cow", "orders_mor", "archived", "managed")


def build_settings(lake: Path, **source: str) -> Settings:
    given = {"type": "s3", "bucket": "landing", "moved_from": BUCKET, **source}
    return Settings.model_validate(
        {"source": given, "lake": str(lake), "tables": {name: {"path": "*.json"} for name in TABLES}}
    )


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A lake, with what running processes leave there."""
    lake = tmp_path / "lake"
    for name in (*TABLES, "_headwater"):
        shutil.copytree(FIXTURE_LAKE / name, lake / name)
    for name in (
        "_headwater/writers/dead.json",
        "_headwater/catalogs/glue.orders.json",
        "managed/.hoodie/lock",
    ):
        path = lake / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("{}")
    return build_settings(lake)


def back_up(settings: Settings, folder: Path | str) -> BackupReport:
    return back_up_lake(settings, str(folder), settings.lake_storage, 4)


def restore(settings: Settings, folder: Path, *, dry_run: bool = False) -> RestoreReport:
    return restore_lake(settings, str(folder), settings.lake_storage, 4, dry_run=dry_run)


def read_rows(settings: Settings, name: str) -> list[str]:
    address = find_address(settings, name)
    return sorted(map(str, SnapshotReader(address.path).read().to_pylist()))


def test_restored_tables_have_the_rows_commits_and_archive_of_the_original(settings, tmp_path):
    done = back_up(settings, tmp_path / "backup")
    names = [table.name for table in done.manifest.tables]
    assert names == ["orders_cow", "orders_mor", "archived", "managed", "quarantine", "events"]
    other = build_settings(tmp_path / "elsewhere" / "lake")
    report = restore(other, tmp_path / "backup")
    assert report.manifest == done.manifest
    assert report.files == sum(path.is_file() for path in Path(other.lake).rglob("*")) - 1
    for name in names:
        assert read_rows(other, name) == read_rows(settings, name)
        original, found = (SnapshotReader(list_tables(one)[name]) for one in (settings, other))
        assert found.list_commits() == original.list_commits()
        assert check_files(find_address(other, name), archived=True, contents=True).is_good
    assert not any("lock" in path.name or "writers" in path.parts for path in find_files(other))
    state = find_restore(other)
    assert state is not None
    assert state.finished_at is not None
    ensure_usable_lake(other)


def find_files(settings: Settings) -> list[Path]:
    return [path for path in Path(settings.lake).rglob("*") if path.is_file()]


def test_a_second_backup_copies_only_what_is_new_and_deletes_what_is_not_needed(settings, tmp_path):
    folder = tmp_path / "backup"
    first = back_up(settings, folder)
    assert first.copied_bytes > 0
    again = back_up(settings, folder)
    assert (again.copied_files, again.copied_bytes) == (0, 0)
    assert again.manifest.tables[0].listed_in != first.manifest.tables[0].listed_in
    shutil.rmtree(Path(settings.lake) / "archived")
    third = back_up(settings, folder)
    assert third.copied_files == 0
    assert not list(folder.glob("data/archived/**/*.parquet"))
    assert restore(build_settings(tmp_path / "new"), folder).missing == ("archived",)


def test_missing_truncated_and_changed_files_are_named_and_nothing_is_written(settings, tmp_path):
    folder, other = tmp_path / "backup", build_settings(tmp_path / "new")
    back_up(settings, folder)
    first, second, third = sorted(folder.glob("data/orders_cow/**/*.parquet"))[:3]
    content = third.read_bytes()
    third.write_bytes(content[:-1] + b"?")
    with pytest.raises(LakeError, match=f"{third.name} has the checksum"):
        restore(other, folder)
    # The interrupted restore keeps everything else from using the lake.
    with pytest.raises(LakeError, match=r"its restore from .* was interrupted"):
        ensure_usable_lake(other)
    third.write_bytes(content)
    restore(other, folder)
    ensure_usable_lake(other)

    empty = build_settings(tmp_path / "empty")
    first.unlink()
    second.write_bytes(b"")
    with pytest.raises(LakeError, match="is incomplete") as caught:
        restore(empty, folder)
    assert f"{first.relative_to(folder)} is missing" in caught.value.message
    assert f"{second.relative_to(folder)} has 0 bytes instead of" in caught.value.message
    assert not Path(empty.lake).exists()
    with pytest.raises(LakeError, match="is incomplete"):
        restore(settings, folder, dry_run=True)


def test_a_file_list_or_manifest_that_changed_is_noticed(settings, tmp_path):
    folder, other = tmp_path / "backup", build_settings(tmp_path / "new")
    back_up(settings, folder)
    listed = next(folder.glob("lists/*/events.jsonl"))
    content = listed.read_bytes()
    listed.write_bytes(content[: len(content) // 2])
    with pytest.raises(LakeError, match=r"events.jsonl is corrupt"):
        restore(other, folder)
    listed.write_bytes(content)
    manifest = (folder / MANIFEST).read_text()
    for changed in (manifest[:-20], manifest.replace("managed", "renamed")):
        (folder / MANIFEST).write_text(changed)
        with pytest.raises(LakeError, match=r"the manifest of the backup .* is corrupt"):
            restore(other, folder)


def test_a_restore_that_was_interrupted_is_repeated(settings, tmp_path):
    folder, other = tmp_path / "backup", build_settings(tmp_path / "new")
    back_up(settings, folder)
    begun = RestoreState(str(folder), datetime.now(timezone.utc))
    marker = Path(other.lake, RESTORE_FILE)
    marker.parent.mkdir(parents=True)
    marker.write_bytes(begun.to_bytes())
    half = Path(other.lake, "orders_cow/.hoodie/timeline/x")
    half.parent.mkdir(parents=True)
    half.write_text("")
    restore(other, folder)
    assert read_rows(other, "orders_cow") == read_rows(settings, "orders_cow")
    with pytest.raises(UsageError, match=r"is not empty: \d+ files"):
        restore(other, folder)


def test_locations_that_make_no_sense_are_refused(settings, tmp_path):
    lake = Path(settings.lake)
    for where, reason in ((lake / "backup", "is inside the lake"), (tmp_path, "contains the lake")):
        with pytest.raises(UsageError, match=reason):
            back_up(settings, where)
    local = build_settings(lake)
    local = local.model_copy(update={"source": build_local_source(tmp_path / "landing")})
    with pytest.raises(UsageError, match="is inside the source"):
        back_up(local, tmp_path / "landing" / "backup")
    with pytest.raises(UsageError, match="is inside the source"):
        back_up(settings, "s3://landing/backups")
    used = tmp_path / "used"
    used.mkdir()
    (used / "photo.jpg").write_text("")
    with pytest.raises(UsageError, match=r"is not empty, and holds no backup: photo.jpg"):
        back_up(settings, used)
    back_up(settings, tmp_path / "backup")
    shutil.copytree(lake, tmp_path / "twin")
    with pytest.raises(UsageError, match="holds a backup of another lake"):
        back_up(build_settings(tmp_path / "twin"), tmp_path / "backup")


def test_a_backup_inside_a_container_of_the_source_is_refused(tmp_path):
    source = {"type": "azure", "account": "acme", "container": "landing", "queue": {"name": "events"}}
    settings = build_settings(tmp_path / "lake").model_copy(
        update={"source": AzureSourceConfig.model_validate(source)}
    )
    with pytest.raises(UsageError, match="is inside the source"):
        check_destination("abfss://landing@acme.dfs.core.windows.net/backup", settings)
    check_destination("abfss://landing@other.dfs.core.windows.net/backup", settings)


def build_local_source(folder: Path) -> object:
    return Settings.model_validate(
        {"source": {"type": "local", "path": str(folder)}, "lake": "/x", "tables": {"t": {"path": "*.json"}}}
    ).source


def test_lakes_that_cannot_be_backed_up_are_refused_and_leave_no_manifest(settings, tmp_path):
    folder = tmp_path / "backup"
    with pytest.raises(UsageError, match="has no tables yet"):
        back_up(build_settings(tmp_path / "none"), folder)
    log = next(Path(settings.lake, "orders_mor").rglob("*.log.*"))
    log.write_bytes(log.read_bytes()[:-1])
    with pytest.raises(TableDamagedError, match=r"orders_mor: a file differs from its commit"):
        back_up(settings, tmp_path / "other")
    with pytest.raises(UsageError, match="there is no complete backup"):
        restore(build_settings(tmp_path / "new"), tmp_path / "other")


def test_backups_of_another_source_and_of_newer_releases_are_refused(settings, tmp_path):
    folder = tmp_path / "backup"
    done = back_up(settings, folder)
    with pytest.raises(
        UsageError, match="filled from s3:/landing; the configured source is s3:other"
    ) as caught:
        restore(build_settings(tmp_path / "new", moved_from="other"), folder)
    assert "moved_from: /landing" in caught.value.hint
    content = json.loads((folder / MANIFEST).read_text())
    content["manifest"]["format"] = 2
    with pytest.raises(UsageError, match="has format 2, written by a newer headwater"):
        parse_manifest(json.dumps(content).encode(), "there")
    newer = format_manifest(done.manifest).replace(b'"lake_format": 1', b'"lake_format": 2')
    plain = json.loads(newer)["manifest"]
    body = json.dumps(plain, indent=2)
    (folder / MANIFEST).write_text(
        json.dumps({"checksum": compute_checksum(body.encode()), "manifest": plain}, indent=2)
    )
    with pytest.raises(UsageError, match="has format 2, written by a newer headwater"):
        restore(build_settings(tmp_path / "new"), folder)


def test_next_steps_name_what_a_backup_does_not_have(settings, tmp_path):
    manifest = back_up(settings, tmp_path / "backup").manifest
    [only] = iter_next_steps(settings, manifest)
    assert "headwater reconcile" in only
    cleaning = settings.sources[0].model_copy(update={"clean_source": "delete"})
    full = settings.model_copy(update={"source": cleaning, "search": object(), "catalogs": (object(),)})
    steps = list(iter_next_steps(full, manifest))
    assert len(steps) == 4
    assert "headwater reconcile --dry-run" in steps[1]
