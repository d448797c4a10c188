import subprocess
from pathlib import Path

from headwater.lake.prerequisites.packages import GCS_CONNECTOR, HUDI_BUNDLE
from headwater.version import __version__
from scripts import build_release

ROOT = Path(__file__).parents[3]


def test_a_clean_commit_whose_places_agree_is_releasable(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(build_release, "list_differences", lambda _root, _version: [])
    (tmp_path / "CHANGELOG.md").write_text("## [1.0.0] - 2026-12-01\n\n- A table.\n")
    for tagged in ("", "abc"):
        found = build_release.list_obstacles(tmp_path, "1.0.0", changed="", tagged=tagged, head="abc")
        assert found == []


def test_all_obstacles_are_named_with_what_to_do() -> None:
    found = build_release.list_obstacles(ROOT, "99.0.0", changed=" M README.md", tagged="abc", head="def")
    text = "\n".join(found)
    assert f"pyproject.toml: {__version__} instead of 99.0.0" in text
    assert "no section [99.0.0]; run: python scripts/versions.py 99.0.0" in text
    assert "commit or remove them:\n M README.md" in text
    assert "v99.0.0 is the tag of another commit, abc; set a new version" in text


def test_the_bill_of_materials_names_the_jars_of_sessions() -> None:
    packages = {"bomFormat": "CycloneDX", "components": [{"name": "pyspark"}]}
    bom = build_release.add_jars(packages, [HUDI_BUNDLE, GCS_CONNECTOR])
    assert bom["bomFormat"] == "CycloneDX"
    python, *jars = bom["components"]
    assert python == {"name": "pyspark"}
    assert [jar["purl"] for jar in jars] == [
        "pkg:maven/com.google.cloud.bigdataoss/gcs-connector@hadoop3-2.2.14?type=jar",
        f"pkg:maven/org.apache.hudi/hudi-spark3.5-bundle_2.12@{HUDI_BUNDLE.split(':')[2]}?type=jar",
    ]


def test_checksums_are_those_that_sha256sum_checks(tmp_path: Path) -> None:
    (tmp_path / "a.whl").write_bytes(b"wheel")
    (tmp_path / "NOTES.md").write_bytes(b"notes")
    build_release.write_checksums(tmp_path)
    build_release.write_checksums(tmp_path)
    done = subprocess.run(
        ["sha256sum", "--check", "SHA256SUMS"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["NOTES.md:", "OK", "a.whl:", "OK"]
