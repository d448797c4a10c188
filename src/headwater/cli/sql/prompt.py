"""The prompt of `headwater sql`: statements end with `;`. History and completion by Python's readline."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from headwater.cli.rendering import render_error, render_text
from headwater.config.environment import find_state_folder, read_environment
from headwater.errors import HeadwaterError

KEYWORDS = (
    *("select", "from", "where", "group by", "order by", "having", "limit", "join", "left join", "on", "as"),
    *("and", "or", "not", "is null", "in", "between", "like", "case", "when", "then", "else", "end", "with"),
    *("distinct", "count", "sum", "avg", "min", "max", "cast", "union all", "show tables"),
)
_HELP = "End a statement with ;   \\t lists the tables   \\q or Ctrl-D ends   Tab completes"
_HISTORY = 2_000
_MORE = "...> "

_DELIMITERS = " \t\n\"'`(),;=<>."

Execute = Callable[[str], None]
Completer = Callable[[str, int], str | None]
"""As readline calls it: what is begun, and the number of the wanted word."""


def run_prompt(
    execute: Execute,
    tables: Sequence[str],
    list_columns: Callable[[str], Sequence[str]],
    *,
    history: str = "sql-history",
    greeting: str = "",
) -> None:
    """Read statements until the end of the input, and execute each. An error ends only its statement.

    `history` is a file in the state folder. `greeting` replaces the list of tables.
    """
    words = Words(tables, list_columns)
    with edited_lines(history, words.build_completer()):
        tables_line = f"Tables: {', '.join(tables)}"
        render_text(f"{greeting or tables_line}\n{_HELP}")
        for statement in iter_statements(_iter_lines()):
            words.note(statement)
            try:
                execute("show tables" if statement == "\\t" else statement)
            except HeadwaterError as error:
                render_error(error, as_json=False)
            except KeyboardInterrupt:
                render_text("interrupted")


def iter_statements(lines: Iterator[str | None]) -> Iterator[str]:
    """Yield complete statements; None forgets the lines of an incomplete one."""
    held: list[str] = []
    for line in lines:
        if line is None:
            held.clear()
            continue
        text = line.strip()
        if not held and text in {"\\q", "exit", "quit", "exit;", "quit;"}:
            return
        if not held and text == "\\t":
            yield text
        elif text:
            held.append(line)
            if text.endswith(";"):
                yield "\n".join(held).strip().rstrip(";").strip()
                held.clear()
    if held:
        yield "\n".join(held).strip()


class Words:
    """The words that Tab completes: keywords, tables, and the columns of tables that were named."""

    def __init__(self, tables: Sequence[str], list_columns: Callable[[str], Sequence[str]]) -> None:
        self._tables = tables
        self._list_columns = list_columns
        self._columns: dict[str, Sequence[str]] = {}

    def note(self, text: str) -> None:
        """Load the columns of the tables that the text names."""
        for table in self._tables:
            if table in text and table not in self._columns:
                self._columns[table] = ()
                # A table without rows has no columns yet.
                with suppress(HeadwaterError):
                    self._columns[table] = self._list_columns(table)

    def complete(self, begun: str, line: str) -> list[str]:
        """Return the words that continue what is begun; `line` may name tables."""
        self.note(line)
        columns = (column for found in self._columns.values() for column in found)
        known = dict.fromkeys((*self._tables, *columns, *KEYWORDS))
        return [word for word in known if word.lower().startswith(begun.lower())]

    def build_completer(self) -> Completer:
        """Return what readline calls."""
        found: list[str] = []

        def complete(begun: str, state: int) -> str | None:
            import readline

            if state == 0:
                found[:] = self.complete(begun, readline.get_line_buffer())
            return found[state] if state < len(found) else None

        return complete


def _iter_lines() -> Iterator[str | None]:
    prompt = "sql> "
    while True:
        try:
            line = input(prompt if sys.stdin.isatty() else "")
        except EOFError:
            return
        except KeyboardInterrupt:
            render_text("")
            prompt = "sql> "
            yield None
            continue
        text = line.strip()
        is_open = (text or prompt == _MORE) and not text.endswith(";") and not text.startswith("\\")
        prompt = _MORE if is_open else "sql> "
        yield line


@contextmanager
def edited_lines(history_name: str, complete: Completer, delimiters: str = _DELIMITERS) -> Iterator[None]:
    """Edit lines with history and completion, where Python has readline."""
    try:
        import readline
    except ImportError:
        yield
        return
    history = find_state_folder(read_environment()) / history_name
    _load(readline.read_history_file, history)
    readline.set_history_length(_HISTORY)
    readline.set_completer_delims(delimiters)
    readline.set_completer(complete)
    readline.parse_and_bind("tab: complete")
    try:
        yield
    finally:
        readline.set_completer(None)
        history.parent.mkdir(parents=True, exist_ok=True)
        _load(readline.write_history_file, history)


def _load(use: Callable[[str], None], history: Path) -> None:
    # A history that cannot be read or written is no reason to fail.
    with suppress(OSError):
        use(str(history))
