"""Text output of the index commands."""

from typing import TYPE_CHECKING

from headwater.cli.rendering import render_table, render_text

if TYPE_CHECKING:
    from headwater.lake.indexes import Advice, PlannedIndex, TableIndex, TableIndexes, TableProfile
    from headwater.lake.indexes.building import BuiltIndex


def render_indexes(found: "TableIndexes") -> None:
    """Print how writes find keys, a line per index, and problems."""
    write = found.write_index
    buckets = f", {write.buckets} buckets" if write.buckets else ""
    source_note = {
        "configuration": "",
        "size": " (by the table's size)",
        "default": " (by default)",
        "files": " (from its files)",
    }[write.told_by]
    render_text(f"write index: {write.type}{buckets}{source_note}")
    if not found.indexes:
        render_text("no metadata table, so no other indexes")
    else:
        render_text("")
        render_table(
            ("index", "kind", "state", "columns", "function", "files", "bytes", ""),
            [
                (
                    one.name,
                    one.kind,
                    one.state,
                    ", ".join(one.columns),
                    _describe_function(one),
                    one.files,
                    one.bytes,
                    "" if one.kept else "dropped by the next write",
                )
                for one in found.indexes
            ],
        )
    for instant in found.under_way:
        render_text(f"pending: {instant}")
    for problem in found.problems:
        render_text(f"problem: {problem}")


def render_plan(plan: "PlannedIndex", verb: str) -> None:
    """Print the plan."""
    on = f" on {', '.join(plan.columns)}" if plan.columns else ""
    options = ", ".join(f"{key}={value}" for key, value in plan.options.items())
    render_text(f"would be {verb}: {plan.partition}{on}{f' ({options})' if options else ''}")


def render_built(done: "BuiltIndex") -> None:
    """Print what was built."""
    render_text(f"built {done.partition} in {done.seconds:.1f} s")


def render_advice(profile: "TableProfile", advice: "Advice") -> None:
    """Print the advice, its reasons, and the lines to set."""
    rows = "rows unknown" if profile.rows is None else f"{profile.rows:,} rows"
    render_text(
        f"table {profile.table}: {rows}, {profile.file_groups:,} file groups, {profile.partitions:,} "
        f"partitions, {profile.commits:,} commits inspected"
    )
    now = f" (now: {profile.index})" if advice.is_change else ""
    render_text(f"index: {advice.index}{now}")
    for why in advice.why:
        render_text(f"  - {why}")
    render_text(f"column_stats: {', '.join(advice.column_stats) or 'none'}")
    for why in advice.why_stats:
        render_text(f"  - {why}")
    for note in advice.notes:
        render_text(f"note: {note}")
    if advice.yaml:
        render_text(f"\ntables:\n  {profile.table}:")
        for line in advice.yaml:
            render_text(f"    {line}")


def _describe_function(one: "TableIndex") -> str:
    if not one.function:
        return ""
    options = (f"{key}={value}" for key, value in one.options.items() if key != "expr")
    return ", ".join((one.function, *options, *((one.statistics,) if one.statistics else ())))
