"""The edited file is checked as if it replaced the current one, and replaces only what was compared."""

from pathlib import Path

import pytest

from headwater.app.rehearsal import RehearsalWindow
from headwater.app.rehearsal.replacing import read_new_file, replace_file
from headwater.errors import ConfigError, UsageError

CURRENT = "source: {type: local, path: landing}\nlake: lake\ntables: {orders: {path: '*.json'}}\n"


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    current, new = tmp_path / "headwater.yaml", tmp_path / "drafts" / "new.yaml"
    new.parent.mkdir()
    current.write_text(CURRENT)
    new.write_text(CURRENT + "# edited\n")
    return current, new


def test_relative_paths_belong_to_the_folder_of_the_current_file(files: tuple[Path, Path]) -> None:
    current, new = files
    assert read_new_file(current, new, {}, "").settings.lake == str(current.parent / "lake")


def test_problems_name_the_edited_file(files: tuple[Path, Path]) -> None:
    current, new = files
    new.write_text(CURRENT.replace("tables", "tabels"))
    with pytest.raises(ConfigError, match=r"new\.yaml:3"):
        read_new_file(current, new, {}, "")


def test_previous_texts_are_kept(files: tuple[Path, Path]) -> None:
    current, new = files
    edited = read_new_file(current, new, {}, "")
    new.write_text("edited since")
    first = replace_file(current, edited)
    assert (current.read_text(), first.read_text()) == (CURRENT + "# edited\n", CURRENT)
    current.write_text(CURRENT)
    second = replace_file(current, edited)
    assert [first.name, second.name] == ["headwater.yaml.before-1", "headwater.yaml.before-2"]
    assert sorted(path.name for path in current.parent.iterdir()) == [
        "drafts",
        "headwater.yaml",
        first.name,
        second.name,
    ]


def test_file_that_was_edited_during_the_rehearsal_stays(files: tuple[Path, Path]) -> None:
    current, new = files
    edited = read_new_file(current, new, {}, "")
    current.write_text(CURRENT + "# by a colleague\n")
    with pytest.raises(ConfigError, match="edited during the rehearsal"):
        replace_file(current, edited)
    assert current.read_text().endswith("# by a colleague\n")


def test_window_is_either_of_days_or_of_objects() -> None:
    assert RehearsalWindow().describe() == "objects with events of the last 7 days"
    assert RehearsalWindow(days=0.5).describe() == "objects with events of the last 0.5 days"
    assert RehearsalWindow(objects=1000).describe() == "the newest 1,000 objects of each table"
    with pytest.raises(UsageError, match="exclude each other"):
        RehearsalWindow(days=1, objects=1)
