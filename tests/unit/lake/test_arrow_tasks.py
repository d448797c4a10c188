"""`forget_archives`: PySpark's workers read no archive again before each task."""

import importlib
import sys
import zipfile
from pathlib import Path
from zipimport import zipimporter

import pytest

from headwater.lake.arrow_tasks import forget_archives


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "modules.zip"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("archived_one.py", "NUMBER = 1")
        file.writestr("archived_two.py", "NUMBER = 2")
    monkeypatch.syspath_prepend(str(path))
    return path


def test_no_importer_of_an_archive_is_left(archive: Path) -> None:
    importlib.import_module("archived_one")
    assert isinstance(sys.path_importer_cache[str(archive)], zipimporter)

    forget_archives()

    left = [path for path, found in sys.path_importer_cache.items() if isinstance(found, zipimporter)]
    assert left == []


def test_modules_of_archives_can_still_be_imported(archive: Path) -> None:
    one = importlib.import_module("archived_one")

    forget_archives()

    assert importlib.import_module("archived_one") is one
    assert importlib.import_module("archived_two").NUMBER == 2
