import datetime as dt
import shutil
from pathlib import Path

import pytest

from headwater.version import __version__
from scripts import versions

ROOT = Path(__file__).parents[3]
DAY = dt.date(2026, 12, 1)


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    for place in [*versions.PLACES, versions.CHANGELOG.as_posix()]:
        name = place.partition("#")[0]
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    changelog = tmp_path / versions.CHANGELOG
    changelog.write_text(
        "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- A table.\n\n## [0.0.1] - 2020-01-01\n"
    )
    return tmp_path


def test_all_places_state_the_version_of_the_package() -> None:
    assert versions.list_differences(ROOT, __version__) == []


def test_a_version_is_set_everywhere_and_gets_the_unreleased_changes(copied: Path) -> None:
    versions.set_version(copied, "7.8.9rc2", DAY)
    assert versions.list_differences(copied, "7.8.9rc2") == []
    assert versions.find_versions(copied)["deploy/helm/headwater/Chart.yaml"] == {"7.8.9-rc.2"}
    changelog = (copied / versions.CHANGELOG).read_text()
    assert "## [Unreleased]\n\n## [7.8.9rc2] - 2026-12-01\n\n### Added" in changelog
    assert versions.find_notes(changelog, "7.8.9rc2") == "### Added\n\n- A table."
    assert versions.find_notes(changelog, "0.0.1") == ""
    assert versions.find_notes(changelog, "0.0.2") is None


def test_a_place_with_another_version_is_named(copied: Path) -> None:
    versions.set_version(copied, "7.8.9", DAY)
    page = copied / "docs/how-to/deploy/containers.md"
    page.write_text(page.read_text().replace("headwater:7.8.9 .", "headwater:7.8.8 ."))
    (finding,) = versions.list_differences(copied, "7.8.9")
    assert finding == "docs/how-to/deploy/containers.md: 7.8.8, 7.8.9 instead of 7.8.9"


@pytest.mark.parametrize("version", ["1.0", "v1.0.0", "1.0.0-rc.1", "1.0.0.dev1", ""])
def test_other_forms_of_versions_are_refused_before_anything_is_written(copied: Path, version: str) -> None:
    before = versions.find_versions(copied)
    with pytest.raises(ValueError, match=r"allowed: 1.2.3 and 1.2.3rc1"):
        versions.set_version(copied, version, DAY)
    assert versions.find_versions(copied) == before


def test_a_release_without_changes_is_refused(copied: Path) -> None:
    versions.set_version(copied, "7.8.9", DAY)
    with pytest.raises(ValueError, match="has no changes below"):
        versions.set_version(copied, "7.9.0", DAY)
    assert versions.list_differences(copied, "7.8.9") == []
