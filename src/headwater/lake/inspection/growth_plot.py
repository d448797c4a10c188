"""A table's growth as a picture: SVG by itself, PNG with matplotlib."""

import html
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from headwater.config.extras.packages import importing_extra
from headwater.errors import UsageError
from headwater.lake.inspection.growth import Growth, GrowthPoint

_KINDS = (".svg", ".png")
_LEFT, _WIDTH, _HEIGHT, _GAP = 90, 620, 150, 56
# Read in light and in dark.
_BYTES_COLOR, _ROWS_COLOR = "#2f6fde", "#3c8d40"

Panel = tuple[str, str, str, Sequence[tuple[datetime, int]]]


def check_plot(path: Path) -> None:
    """Raise `UsageError` for a file that cannot be drawn to, `MissingExtraError` without matplotlib."""
    if path.suffix.lower() not in _KINDS:
        raise UsageError(f"--plot {path}: draws {' and '.join(_KINDS)}", hint="name the file growth.svg")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"--plot {path}: there is no such folder", hint="make it first")
    if path.suffix.lower() == ".png":
        _import_pyplot()


def write_plot(growth: Growth, table: str, path: Path) -> None:
    """Draw it as the file's name ends. Raises as `check_plot`, and `UsageError` where it may not."""
    check_plot(path)
    try:
        if path.suffix.lower() == ".png":
            _write_png(growth, table, path)
        else:
            path.write_text(draw_svg(growth, table), "utf-8")
    except OSError as error:
        raise UsageError(
            f"--plot {path}: {error.strerror}", hint="name a file in a folder of yours"
        ) from error


def draw_svg(growth: Growth, table: str) -> str:
    """One panel for bytes, one for rows, over time."""
    title = html.escape(f"{table}: {len(growth.points):,} commits")
    top, pieces = 40, [f'<text x="0" y="16" font-weight="bold">{title}</text>']
    for panel in _build_panels(growth):
        pieces.append(_draw_panel(panel, top))
        top += _HEIGHT + _GAP
    body = "\n".join(pieces)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_LEFT + _WIDTH + 30}" height="{top}" '
        f'font-family="sans-serif" font-size="12" role="img" aria-label="{title}">\n'
        f'<rect width="100%" height="100%" fill="#fff"/>\n{body}\n</svg>\n'
    )


def _build_panels(growth: Growth) -> tuple[Panel, Panel]:
    from rich.filesize import decimal

    exact = all(point.rows_are_exact for point in growth.points)
    most_bytes = max((point.bytes for point in growth.points), default=0)
    most_rows = max((point.rows for point in growth.points), default=0)
    return (
        ("bytes", decimal(most_bytes), _BYTES_COLOR, _list_series(growth, lambda point: point.bytes)),
        (
            "rows" if exact else "rows, about",
            f"{most_rows:,}",
            _ROWS_COLOR,
            _list_series(growth, lambda point: point.rows),
        ),
    )


def _list_series(growth: Growth, read: Callable[[GrowthPoint], int]) -> list[tuple[datetime, int]]:
    return [(point.completed_at, read(point)) for point in growth.points if point.completed_at]


def _draw_panel(panel: Panel, top: int) -> str:
    name, most, color, series = panel
    floor = top + _HEIGHT
    pieces = [
        f'<text x="{_LEFT}" y="{top - 8}">{name}</text>',
        f'<text x="{_LEFT - 8}" y="{top + 4}" text-anchor="end">{most}</text>',
        f'<text x="{_LEFT - 8}" y="{floor + 4}" text-anchor="end">0</text>',
        f'<path d="M{_LEFT} {top}V{floor}H{_LEFT + _WIDTH}" fill="none" stroke="#8a94a6"/>',
    ]
    if series:
        first, last = series[0][0], series[-1][0]
        line = _draw_steps(series, top)
        pieces += [
            f'<path d="{line}" fill="none" stroke="{color}" stroke-width="2"/>',
            f'<text x="{_LEFT}" y="{floor + 20}">{first:%Y-%m-%d %H:%M:%SZ}</text>',
            f'<text x="{_LEFT + _WIDTH}" y="{floor + 20}" text-anchor="end">{last:%Y-%m-%d %H:%M:%SZ}</text>',
        ]
    return "\n".join(pieces)


def _draw_steps(series: Sequence[tuple[datetime, int]], top: int) -> str:
    """The state stays as a commit has left it until the next one."""
    first = series[0][0]
    span = (series[-1][0] - first).total_seconds() or 1
    most = max(value for _, value in series) or 1
    steps = [
        f"H{_LEFT + _WIDTH * (when - first).total_seconds() / span:.1f}"
        f"V{top + _HEIGHT * (1 - max(value, 0) / most):.1f}"
        for when, value in series
    ]
    return f"M{_LEFT} {top + _HEIGHT}{''.join(steps)}"


def _write_png(growth: Growth, table: str, path: Path) -> None:
    pyplot = _import_pyplot()
    figure, axes = pyplot.subplots(2, 1, sharex=True, figsize=(8, 6), layout="constrained")
    try:
        figure.suptitle(f"{table}: {len(growth.points):,} commits")
        for axis, (name, _, color, series) in zip(axes, _build_panels(growth), strict=True):
            axis.step([when for when, _ in series], [value for _, value in series], where="post", color=color)
            axis.set_ylabel(name)
            axis.set_ylim(bottom=0)
        figure.savefig(path, dpi=120)
    finally:
        pyplot.close(figure)


def _import_pyplot() -> Any:
    with importing_extra("plot", "drawing a .png"):
        import matplotlib as mpl
    # No window is opened, on a machine with a screen neither.
    mpl.use("agg")
    from matplotlib import pyplot

    return pyplot
