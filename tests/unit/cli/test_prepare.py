"""`headwater prepare --package`: coordinates are checked before anything starts, and passed on."""

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from headwater.app.machine import preparation
from headwater.cli.main import app
from headwater.errors import PlatformError

PACKAGE = "org.apache.hudi:hudi-aws-bundle:1.2.0"


@pytest.mark.parametrize("text", ["hudi-aws-bundle", "org.apache.hudi::1.2.0", "a:b:c:d", ""])
def test_text_that_is_no_coordinate_is_rejected(text: str) -> None:
    done = CliRunner().invoke(app, ["prepare", "--package", text])
    assert done.exit_code == 2
    assert "is not GROUP:ARTIFACT:VERSION" in done.stderr


def test_packages_are_passed_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    given: list[Any] = []

    def prepare(
        environ: object, say: object, packages: list[str], *, clouds: list[str]
    ) -> preparation.Preparation:
        given.append((packages, clouds))
        return preparation.Preparation(tmp_path, (), None, None, 0, 0)

    monkeypatch.setattr(preparation, "prepare", prepare)
    done = CliRunner().invoke(app, ["prepare", "--package", PACKAGE, "--package", "a:b:1"])
    assert (done.exit_code, given) == (0, [([PACKAGE, "a:b:1"], [])])
    assert CliRunner().invoke(app, ["prepare", "--gcs", "--azure"]).exit_code == 0
    assert given[1:] == [((), ["gcs", "azure"])]


def test_packages_that_need_others_are_rejected_with_their_names() -> None:
    preparation.ensure_complete(["a:b:1"], ["a_b-1.jar"])
    with pytest.raises(PlatformError, match=r"not named: c_d-2\.jar, e_f-3\.jar"):
        preparation.ensure_complete(["a:b:1"], ["e_f-3.jar", "a_b-1.jar", "c_d-2.jar"])
