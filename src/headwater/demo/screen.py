"""The display of a running demo: a live table in a terminal, a line every few seconds elsewhere."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from headwater.demo.progress import TableProgress, View, find_percentile

LINE_SECONDS = 5.0
RECENT_FRESHNESS = 40
COLUMNS = (
    "table",
    "put",
    "in",
    "behind",
    "rows written",
    "commits",
    "last commit",
    "unusable",
    "freshness p50",
)


class Screen(Protocol):
    """Shows views of a demo. `show` may be called often."""

    def show(self, view: View) -> None:
        """Show this view."""
        ...


class LiveScreen:
    """Repaints the previous view."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._spinner = Spinner("dots")

    def show(self, view: View) -> None:
        """Show this view."""
        self._spinner.update(text=Text(view.stage, style="bold"))
        self._live.update(Group(self._spinner, *build_picture(view)))


class LineScreen:
    """Prints a line when the stage changes and every few seconds."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._clock = clock
        self._stage = ""
        self._next = 0.0

    def show(self, view: View) -> None:
        """Show this view, if it is time."""
        if view.stage != self._stage:
            self._stage = view.stage
            print_plain(self._console, f"{view.elapsed:5.0f} s  {view.stage}")
            self._next = self._clock() + LINE_SECONDS
        elif self._clock() >= self._next:
            print_plain(self._console, write_line(view))
            self._next = self._clock() + LINE_SECONDS


@contextmanager
def open_screen(console: Console) -> Iterator[Screen]:
    """Yield the screen that fits the output."""
    if not console.is_terminal:
        yield LineScreen(console)
        return
    # The report stays on the terminal at the end, not the live table.
    with Live(console=console, refresh_per_second=8, transient=True) as live:
        yield LiveScreen(live)


def print_plain(console: Console, text: str) -> None:
    """Print text verbatim: a key may contain rich markup."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def write_line(view: View) -> str:
    """Return a view as one line."""
    tables = ", ".join(
        f"{name} {table.ingested} in / {table.behind} behind" for name, table in view.tables.items()
    )
    return (
        f"{view.elapsed:5.0f} s  put {view.put}/{view.to_put}, queue {view.waiting + view.in_flight}, "
        f"notifications {view.events}, {tables}, quarantine {view.quarantined}"
    )


def build_picture(view: View) -> list[RenderableType]:
    """Return the parts of the live table, top to bottom."""
    head = Table.grid(padding=(0, 1))
    head.add_row(
        Text("uploads"),
        ProgressBar(total=max(1, view.to_put), completed=view.put, width=30),
        Text(f"{view.put:,} of {view.to_put:,} objects"),
    )
    numbers = Text.assemble(
        ("queue ", "dim"),
        f"{view.waiting:,} waiting, {view.in_flight:,} in flight   ",
        ("notifications ", "dim"),
        f"{view.events:,} in {view.event_commits:,} commits   ",
        ("quarantine ", "dim"),
        (f"{view.quarantined:,}", "yellow" if view.quarantined else ""),
        ("   elapsed ", "dim"),
        f"{view.elapsed:.0f} s",
    )
    recent = [
        Text(text, style="yellow" if "(!)" in text else "dim", overflow="ellipsis", no_wrap=True)
        for text in view.recent
    ]
    return [Text(), head, numbers, Text(), _build_tables(view), Text(), *recent]


def _build_tables(view: View) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for name in COLUMNS:
        table.add_column(name, justify="left" if name == "table" else "right")
    for name, progress in view.tables.items():
        table.add_row(Text(name, style="cyan"), *_write_cells(progress, view.elapsed))
    return table


def _write_cells(table: TableProgress, elapsed: float) -> list[Text]:
    recent = find_percentile(table.freshness[-RECENT_FRESHNESS:], 50)
    since = "" if table.last_commit is None else f"{max(0.0, elapsed - table.last_commit):.0f} s ago"
    unusable = table.unusable + table.bad_rows
    return [
        Text(f"{table.announced:,}"),
        Text(f"{table.answered:,}", style="green"),
        Text(f"{table.behind:,}"),
        Text(f"{table.rows:,}"),
        Text(f"{table.commits:,}"),
        Text(since),
        Text(f"{unusable:,}", style="yellow" if unusable else ""),
        Text("" if recent is None else f"{recent:.1f} s"),
    ]
