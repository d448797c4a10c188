"""The answer of a command: its document, also with findings, or its own error."""

from pathlib import Path

import pytest

from headwater.mcp.command_line import CommandFailedError, ProcessCommandLine, read_answer

ERROR = '{"error": "UsageError", "message": "no such table", "hint": "one of a, b", "exit_code": 2}'


def test_documents_and_lines_are_answers() -> None:
    assert read_answer(0, '{\n  "a": 1\n}\n', "a log line") == {"a": 1}
    assert read_answer(0, '{"a": 1}\n{"a": 2}\n', "") == [{"a": 1}, {"a": 2}]
    assert read_answer(0, "", "") == []
    assert read_answer(3, '{"complete": false}', "") == {"complete": False}
    assert read_answer(1, '{"ok": false}', ERROR) == {"ok": False}


def test_the_command_s_own_error_is_passed_on() -> None:
    with pytest.raises(CommandFailedError, match="no such table") as caught:
        read_answer(2, "", f"a log line\n{ERROR}\n")
    assert caught.value.hint == "one of a, b"


@pytest.mark.parametrize(("code", "out"), [(1, ""), (-9, "  \n"), (0, "no JSON")])
def test_anything_else_is_an_error_with_its_last_words(code: int, out: str) -> None:
    with pytest.raises(CommandFailedError, match=r"printed no JSON: (killed|no JSON)"):
        read_answer(code, out, "killed")


def test_an_answer_too_large_for_an_assistant_is_refused() -> None:
    with pytest.raises(CommandFailedError, match="300,002 characters") as caught:
        read_answer(0, '"' + "x" * 300_000 + '"', "")
    assert "fewer rows" in caught.value.hint


def test_a_process_answers_and_one_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    config = tmp_path / "headwater.yaml"
    config.write_text("source: {type: local, path: data}\nlake: lake\ntables: {t: {path: '*.json'}}\n")
    with pytest.raises(CommandFailedError, match="longer than 0 s"):
        ProcessCommandLine(["--config", str(config)], timeout_seconds=0.01).run(("status", "--json"))
    status = ProcessCommandLine(["--config", str(config)]).run(("status", "--json"))
    assert list(status["tables"]) == ["t"]
