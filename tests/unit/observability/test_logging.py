import json
import logging
import sys
from datetime import datetime, timedelta

import pytest
import structlog

from headwater.observability.logging import configure_logging

pytestmark = pytest.mark.usefixtures("logging_put_back")


def test_lines_are_json_on_stderr_when_it_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(verbose=False, json=False)
    structlog.get_logger("x").info("batch committed", table="orders", rows=3)
    captured = capsys.readouterr()
    assert captured.out == ""
    line = json.loads(captured.err)
    assert (line["event"], line["table"], line["rows"], line["level"]) == (
        "batch committed",
        "orders",
        3,
        "info",
    )
    at = datetime.fromisoformat(line["timestamp"].replace("Z", "+00:00"))
    assert at.utcoffset() == timedelta(0)


def test_secrets_are_hidden_by_name_and_by_shape(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(verbose=False, json=True)
    structlog.get_logger().info(
        "at http://me:hunter22@host", secret_key="hunter22", options={"token": "hunter22"}
    )
    logging.getLogger("library").warning("connecting to %s", "https://me:hunter22@host")
    try:
        int("https://me:hunter22@host")
    except ValueError:
        structlog.get_logger().exception("failed")
    err = capsys.readouterr().err
    assert len(err.splitlines()) == 3
    assert "hunter22" not in err
    assert "Traceback" in err


def test_lines_are_text_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    configure_logging(verbose=False, json=False)
    structlog.get_logger().info("batch committed", password="hunter22")
    try:
        int("https://me:hunter22@host")
    except ValueError:
        structlog.get_logger().exception("failed")
    err = capsys.readouterr().err
    assert "batch committed" in err
    assert "Traceback" in err
    assert not err.startswith("{")
    assert "hunter22" not in err


def test_debug_lines_need_verbose(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(verbose=False, json=True)
    structlog.get_logger().debug("hidden")
    configure_logging(verbose=True, json=True)
    structlog.get_logger().debug("shown")
    assert [json.loads(line)["event"] for line in capsys.readouterr().err.splitlines()] == ["shown"]


def test_libraries_log_through_the_same_door_but_only_warnings(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(verbose=True, json=True)
    logging.getLogger("botocore.endpoint").debug("noise")
    logging.getLogger("py4j").info("noise")
    logging.getLogger("botocore").warning("slow down", extra={"attempt": 2})
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [(line["event"], line["level"], line["attempt"]) for line in lines] == [
        ("slow down", "warning", 2)
    ]
