"""A run that ends by itself: in order, with everything that it found in the table."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.end_to_end.command import run_command, run_json

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.mark.parametrize("condition", [{"idle_for": "2s"}, {"rows": 3}, {"deadline": "20s"}])
def test_run_ends_by_itself_and_has_ingested_what_was_there(
    tmp_path: Path, condition: dict[str, Any]
) -> None:
    landing = tmp_path / "landing"
    landing.mkdir()
    for number in range(3):
        (landing / f"{number}.json").write_text(json.dumps({"n": number}))
    config = {
        "source": {"type": "local", "path": str(landing), "settle_seconds": 0},
        "lake": str(tmp_path / "lake"),
        "tables": {"things": {"path": "*.json"}},
        "stop_when": condition,
    }
    file = tmp_path / "headwater.yaml"
    file.write_text(json.dumps(config))
    done = run_command("--config", str(file), "run", folder=tmp_path / "run", timeout=200).expect(0)
    assert "the run ends by `stop_when`" in done.stderr
    found = run_json("--config", str(file), "status", folder=tmp_path / "status")
    assert found["tables"]["things"]["rows"] == 3
    assert found["tables"]["things"]["lag_events"] == 0
