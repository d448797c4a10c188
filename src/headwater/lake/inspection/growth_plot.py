"""Plots a table's growth with matplotlib."""

from pathlib import Path

from headwater.config.extras.packages import importing_extra
from headwater.errors import UsageError
from headwater.lake.inspection.growth import Growth

# Readable in light and dark mode.
_BYTES_COLOR, _ROWS_COLOR = "#2f6fde", "#3c8d40"


def check_plot(path: Path) -> None:
    """Raise `UsageError` for an unsupported output file, `MissingExtraError` without matplotlib."""
    with importing_extra("plot", "--plot"):
        from matplotlib.backend_bases import FigureCanvasBase
    kinds = FigureCanvasBase.get_supported_filetypes()
    if path.suffix.lower().removeprefix(".") not in kinds:
        allowed = ", ".join(f".{kind}" for kind in sorted(kinds))
        raise UsageError(
            f"--plot {path}: matplotlib does not write {path.suffix or 'files without a suffix'}. "
            f"Allowed: {allowed}",
            hint="use a file name such as growth.svg",
        )
    if not path.absolute().parent.is_dir():
        raise UsageError(f"--plot {path}: the folder does not exist", hint="create the folder first")


def write_plot(growth: Growth, table: str, path: Path) -> None:
    """Plot bytes and rows over time. Raises the errors of `check_plot`, and `UsageError` for an unwritable
    file."""
    check_plot(path)
    from matplotlib.figure import Figure

    points = [point for point in growth.points if point.completed_at]
    times = [point.completed_at for point in points]
    rows_label = "rows" if all(point.rows_are_exact for point in growth.points) else "rows (approximate)"
    panels = (
        ("bytes", _BYTES_COLOR, [point.bytes for point in points]),
        (rows_label, _ROWS_COLOR, [point.rows for point in points]),
    )
    figure = Figure(figsize=(8, 6), layout="constrained")
    figure.suptitle(f"{table}: {len(growth.points):,} commits")
    for axis, (name, color, values) in zip(figure.subplots(2, 1, sharex=True), panels, strict=True):
        # The size is constant between two commits.
        axis.step(times, values, where="post", color=color)
        axis.set_ylabel(name)
        axis.set_ylim(bottom=0)
    try:
        figure.savefig(path, dpi=120)
    except OSError as error:
        raise UsageError(
            f"--plot {path}: {error.strerror}", hint="specify a file in a writable folder"
        ) from error
