"""`CommandLine`: runs commands of headwater for the server; the port, and its implementation by processes."""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from headwater.errors import HeadwaterError
from headwater.mcp.commands import Arguments

_START = "from headwater.cli.main import main; main()"
_MOST_CHARS = 200_000
_FINISHED = frozenset({0, 3})


class CommandFailedError(HeadwaterError):
    """A command printed an error instead of a document."""


class CommandLine(Protocol):
    """Runs one command of headwater."""

    def run(self, arguments: Arguments) -> Any:
        """Return the JSON that the command printed: a document, or a list of lines.

        Raises `CommandFailedError` with the command's own message and hint.
        """
        ...


@dataclass(frozen=True, slots=True)
class ProcessCommandLine:
    """Runs each command in a process of its own. `options` are the global ones, before the command."""

    options: Sequence[str] = ()
    timeout_seconds: float = 3600.0

    def run(self, arguments: Arguments) -> Any:
        """See `CommandLine`."""
        command = [sys.executable, "-c", _START, *self.options, "--quiet", *arguments]
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=self.timeout_seconds,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise CommandFailedError(
                f"headwater {arguments[0]} took longer than {self.timeout_seconds:.0f} s and was ended",
                hint="run it in a terminal",
            ) from error
        out, err = (text.decode("utf-8", "replace") for text in (done.stdout, done.stderr))
        return read_answer(done.returncode, out, err)


def read_answer(exit_code: int, out: str, err: str) -> Any:
    """Return a command's JSON, also if it found something to report. Raises `CommandFailedError`."""
    if len(out) > _MOST_CHARS:
        raise CommandFailedError(
            f"the answer has {len(out):,} characters; at most {_MOST_CHARS:,} fit",
            hint="ask for fewer rows or columns",
        )
    if not out.strip() and exit_code not in _FINISHED:
        error = _find_error(err)
        raise CommandFailedError(str(error["message"]), hint=str(error.get("hint") or ""))
    try:
        return json.loads(out)
    except ValueError:
        pass
    try:
        return [json.loads(line) for line in out.splitlines() if line.strip()]
    except ValueError as error:
        raise CommandFailedError(f"the command printed no JSON: {out[:200] or err[-200:]}") from error


def _find_error(err: str) -> dict[str, Any]:
    for line in reversed(err.splitlines()):
        try:
            found = json.loads(line)
        except ValueError:
            continue
        if isinstance(found, dict) and "exit_code" in found:
            return found
    return {"message": f"the command printed no JSON: {err[-200:]}"}
