"""The register keeps hashes and deleted rows; repeated erasures change nothing."""

from pathlib import Path

from headwater.ingest.erasure.register import Register, Suppressions, TableEntry, format_entry, parse_entry
from headwater.ingest.planning.lost_rows import LostRows, sum_lost
from headwater.lake.file_store import FileStore

ROWS = LostRows("/in/a.json", "v1", "event-1", "h1", 2, "20260101000000000")


def test_suppressed_subjects_are_added_and_released_by_columns() -> None:
    entry = TableEntry().suppress(["Id"], {"h1"}).suppress(["id"], {"h2"}).suppress(["day", "id"], {"h3"})
    assert [(one.columns, one.hashes) for one in entry.suppressed] == [
        (("day", "id"), frozenset({"h3"})),
        (("id",), frozenset({"h1", "h2"})),
    ]
    after = entry.release(["ID"], {"h1", "h3"}).release(["day", "id"], {"h3"})
    assert [(one.columns, one.hashes) for one in after.suppressed] == [(("id",), frozenset({"h2"}))]


def test_repeated_delete_of_the_same_rows_counts_once() -> None:
    entry = TableEntry().add_lost([ROWS]).add_lost([ROWS])
    assert sum_lost(entry.lost, "v1", "") == {"event-1": 2}


def test_rows_count_until_the_object_is_decided_again() -> None:
    assert sum_lost([ROWS], "v1", "20260101000000000") == {"event-1": 2}
    assert sum_lost([ROWS], "v1", "20260101000000001") == {}
    assert sum_lost([ROWS], "v2", "") == {}


def test_files_after_the_delete_are_clear_of_all_subjects_only() -> None:
    entry = TableEntry().clear({"h1"}, "1", deleted=True).clear({"h1", "h2"}, "2", deleted=False)
    assert entry.find_cleared({"h1"}) == "1"
    assert entry.find_cleared({"h1", "h2"}) == "2"
    assert entry.find_cleared({"h1", "h3"}) == ""
    assert entry.clear({"h1"}, "3", deleted=True).find_cleared({"h1"}) == "3"
    assert entry.suppress(["id"], {"h1"}).release(["id"], {"h1"}).find_cleared({"h1"}) == ""


def test_entry_survives_its_file() -> None:
    entry = TableEntry().suppress(["id"], {"h1"}).add_lost([ROWS]).add_sources({"s"})
    entry = entry.clear({"h1"}, "1", deleted=True)
    assert parse_entry(format_entry(entry)) == entry


def test_secret_is_created_once_and_an_empty_list_needs_none(tmp_path: Path) -> None:
    register = Register(FileStore(str(tmp_path / "forget"), dict))
    assert register.find_secret() is None
    assert Suppressions(register, "orders").lists == ()
    secret = register.ensure_secret()
    assert register.ensure_secret() == secret
    register.save("orders", TableEntry().suppress(["id"], {"h1"}))
    ((hasher, hashes),) = Suppressions(register, "orders").lists
    assert (hasher.columns, hashes) == (("id",), frozenset({"h1"}))
    assert Suppressions(register, "other").lists == ()
