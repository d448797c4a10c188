"""Runs `headwater demo` and draws what it prints as an animated terminal: docs/demo.svg.

Pauses are shortened: the picture takes half a minute, the demo a minute and a half.
"""

import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs/demo.svg"
COLUMNS, ROWS = 142, 26
LINE, CHARACTER, MARGIN = 17, 7.4, 14
LONGEST_PAUSE = 0.9
NO_BREAK = "\u00a0"  # pictures drop other spaces at the beginning of a line
STYLE = "font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace"
COLORS = (
    (re.compile(r"^\$ .*"), "#ffffff"),
    (re.compile(r".*(equal to the uploads|exactly once|the answer had it).*"), "#7ee787"),
    (re.compile(r"^\s*(message|object|record)\s+\S+.*|^Quarantined.*"), "#ffa657"),
    (re.compile(r"^\s+\d+ s  .*"), "#8b949e"),
)

Shown = tuple[float, str]


def record() -> Iterator[Shown]:
    """Each line of the demo, with the seconds since its start."""
    started = time.monotonic()
    yield 0.0, "$ headwater demo"
    command = [str(Path(sys.executable).parent / "headwater"), "demo"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            yield time.monotonic() - started, line.rstrip()
    if process.returncode:
        raise SystemExit(f"the demo ended with {process.returncode}")


def shorten(lines: Sequence[Shown]) -> list[Shown]:
    """The lines as they are drawn: wrapped, and with short pauses. What follows "Next steps" is left out."""
    found: list[Shown] = []
    at = before = 0.0
    for seconds, text in lines:
        if text.startswith("Next steps"):
            break
        at += min(seconds - before, LONGEST_PAUSE)
        before = seconds
        found += [(at, text[start : start + COLUMNS]) for start in range(0, len(text) or 1, COLUMNS)]
    return found


def draw(lines: Sequence[Shown]) -> str:
    """The picture: lines appear at their times, and the text moves up when the window is full."""
    width, height = int(COLUMNS * CHARACTER) + 2 * MARGIN, ROWS * LINE + 2 * MARGIN
    texts = [
        f'<text x="{MARGIN}" y="{MARGIN + LINE * (number + 1) - 4}" fill="{_color(text)}" '
        'visibility="hidden">'
        f"{escape(text).replace(' ', NO_BREAK)}"
        f'<set attributeName="visibility" to="visible" begin="{at:.2f}s" fill="freeze"/></text>'
        for number, (at, text) in enumerate(lines)
        if text
    ]
    moves = [
        f'<set attributeName="transform" to="translate(0 {-(number + 1 - ROWS) * LINE})" '
        f'begin="{at:.2f}s" fill="freeze"/>'
        for number, (at, _) in enumerate(lines)
        if number >= ROWS
    ]
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}">',
            "<title>headwater demo in a terminal</title>",
            f'<rect width="{width}" height="{height}" rx="8" fill="#0d1117"/>',
            f'<svg y="{MARGIN}" height="{ROWS * LINE}">',
            f'<g transform="translate(0 {-MARGIN})" style="{STYLE}"><g>',
            *texts,
            *moves,
            "</g></g></svg>\n</svg>\n",
        )
    )


def _color(text: str) -> str:
    return next((color for pattern, color in COLORS if pattern.fullmatch(text)), "#c9d1d9")


if __name__ == "__main__":
    PICTURE.write_text(draw(shorten(list(record()))), "utf-8")
    sys.stdout.write(f"{PICTURE}\n")
