"""`headwater spark`: the Python prompt, and scripts."""

import runpy
import sys
import traceback
from code import InteractiveConsole
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import typer

from headwater.cli.rendering import render_error
from headwater.cli.sql.prompt import edited_lines
from headwater.errors import HeadwaterError, UsageError

FAILED = 1
HISTORY = "spark-history"
_INPUT = "<stdin>"


def check_script(words: Sequence[str]) -> None:
    """Raise `UsageError` if the script cannot be read, before Spark starts."""
    if words and not Path(words[0]).is_file():
        raise UsageError(
            f"{words[0]}: there is no such Python script",
            hint="for a statement, add --sql: headwater spark --sql 'show tables'",
        )


def run_python(words: Sequence[str], names: Mapping[str, Any], greeting: str) -> None:
    """Run a script with its arguments, what is piped in, or a prompt, with `names` defined."""
    if words:
        _run_script(Path(words[0]), words[1:], names)
    elif not sys.stdin.isatty():
        with _reported(_INPUT):
            exec(compile(sys.stdin.read(), _INPUT, "exec"), {"__name__": "__main__", **names})  # noqa: S102 - the user's own program
    elif find_spec("IPython"):
        _run_ipython(names, greeting)
    else:
        _run_prompt(names, greeting)


def _run_script(path: Path, arguments: Sequence[str], names: Mapping[str, Any]) -> None:
    sys.argv = [str(path), *arguments]
    # As for `python FILE`: the modules next to it can be imported.
    sys.path.insert(0, str(path.absolute().parent))
    with _reported(str(path)):
        runpy.run_path(str(path), init_globals=dict(names), run_name="__main__")


@contextmanager
def _reported(file: str) -> Iterator[None]:
    """Print the traceback of a script that fails, without the frames before it, and exit."""
    try:
        yield
    except HeadwaterError:
        raise
    except Exception as error:
        trace = error.__traceback__
        while trace and trace.tb_frame.f_code.co_filename != file:
            trace = trace.tb_next
        traceback.print_exception(type(error), error, trace)
        raise typer.Exit(FAILED) from error


def _run_prompt(names: Mapping[str, Any], greeting: str) -> None:
    from rlcompleter import Completer

    console = _Console({"__name__": "__console__", **names})
    with edited_lines(HISTORY, Completer(console.locals).complete, delimiters=" \t\n`@$><=;|&{(,[:+-*/%^"):
        console.interact(f"{greeting}\n`spark` is the session, `lake` the lake; Ctrl-D ends", exitmsg="")


class _Console(InteractiveConsole):
    """Python's prompt; prints errors of headwater as commands do."""

    def showtraceback(self) -> None:
        error = sys.exc_info()[1]
        if isinstance(error, HeadwaterError):
            render_error(error, as_json=False)
        else:
            super().showtraceback()


def _run_ipython(names: Mapping[str, Any], greeting: str) -> None:
    embed = import_module("IPython.terminal.embed")
    shell = embed.InteractiveShellEmbed(
        user_ns=dict(names), banner1=f"{greeting}\n`spark` is the session, `lake` the lake\n", exit_msg=""
    )

    def show(_shell: Any, _kind: Any, error: HeadwaterError, _trace: Any, **_: Any) -> None:
        render_error(error, as_json=False)

    shell.set_custom_exc((HeadwaterError,), show)
    shell()
