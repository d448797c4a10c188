"""Text output of the commands that inspect a table."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from headwater.cli.rendering import render_table, render_text

if TYPE_CHECKING:
    from headwater.lake.index_definitions import IndexDefinition
    from headwater.lake.inspection.actions import Action
    from headwater.lake.inspection.commits import CommitDetail
    from headwater.lake.inspection.description import Identity, TableDescription
    from headwater.lake.inspection.growth import Growth, GrowthPoint
    from headwater.lake.inspection.layout import LayoutTotals, TableLayout
    from headwater.lake.inspection.partitions import PartitionSummary

_BAR_WIDTH = 30
_MAX_POINTS = 30


def render_description(found: "TableDescription") -> None:
    """Print everything except the raw properties."""
    render_text(f"table {found.name}: {found.path}")
    for label, value in (*_list_identity(found.identity), *_list_amounts(found)):
        if value:
            render_text(f"  {label:<20} {value}")
    render_text("")
    render_table(("column", "type"), [(column.name, column.type) for column in found.columns])
    if found.identity.indexes:
        render_text("")
        rows = [
            (one.name, one.kind, _name_state(one), ", ".join(one.columns)) for one in found.identity.indexes
        ]
        render_table(("index", "kind", "state", "columns"), rows)
    _render_problems(found.problems)


def render_actions(actions: "Sequence[Action]") -> None:
    """Print a line per action, and one per unreadable action."""
    titles = (
        "instant", "action", "state", "operation", "requested", "seconds",
        "inserted", "updated", "deleted", "bytes", "files", "note",
    )  # fmt: skip
    render_table(titles, [_list_cells(action) for action in actions], is_paged=True)
    _render_problems(action.problem for action in actions if action.problem)


def render_commit(found: "CommitDetail") -> None:
    """Print the commit, its files, what it removed from the table, and its metadata."""
    render_actions([found.summary])
    render_text("")
    render_table(
        ("partition", "file", "bytes", "inserted", "updated", "deleted", "rows in file", "errors"),
        [
            (
                one.partition,
                one.path.rpartition("/")[2],
                one.size,
                one.rows_inserted,
                one.rows_updated,
                one.rows_deleted,
                one.rows_written,
                one.write_errors or None,
            )
            for one in found.files
        ],
    )
    for group in found.replaced:
        render_text(f"replaced: {group.partition or '(no partition)'} {group.file_id}")
    for title, metadata in (("headwater", found.headwater), ("extra metadata", found.extra_metadata)):
        if metadata:
            render_text("")
            render_table((title, "value"), list(metadata.items()))


def render_layout(found: "TableLayout") -> None:
    """Print a line per slice, then the totals."""
    render_table(
        ("partition", "file group", "instant", "state", "rows", "base bytes", "logs", "log bytes", ""),
        [
            (
                one.partition,
                one.file_id,
                one.instant,
                one.state,
                one.rows,
                one.base_file.size if one.base_file else None,
                len(one.log_files) or None,
                sum(log.size for log in one.log_files) or None,
                "small" if one.is_small else "",
            )
            for one in found.slices
        ],
        is_paged=True,
    )
    if found.uncommitted:
        render_text("")
        rows = [(file.path, file.instant, file.size) for file in found.uncommitted]
        render_table(("file of an incomplete action", "instant", "bytes"), rows)
    render_text("")
    for line in _list_totals(found.totals):
        render_text(line)
    render_text(f"{found.totals.small_files:,} small files (below {_format_bytes(found.small_file_limit)})")
    _render_problems(found.problems)


def render_partitions(partitions: "Sequence[PartitionSummary]") -> None:
    """Print a line per partition."""
    render_table(
        ("partition", "rows", "bytes", "file groups", "logs", "small files", "last write"),
        [
            (
                one.partition or "(none)",
                one.rows,
                one.bytes,
                one.file_groups,
                one.log_files,
                one.small_files,
                one.last_written_at,
            )
            for one in partitions
        ],
        is_paged=True,
    )


def render_growth(growth: "Growth") -> None:
    """Print a line and a bar per commit; samples many commits, including the first and the last."""
    most = max((point.bytes for point in growth.points), default=0) or 1
    shown = sample(growth.points)
    render_table(
        ("completed", "instant", "operation", "rows", "bytes", "file groups", ""),
        [
            (
                point.completed_at,
                point.instant,
                point.operation,
                f"{'' if point.rows_are_exact else '~'}{point.rows:,}",
                point.bytes,
                point.file_groups,
                "#" * round(_BAR_WIDTH * point.bytes / most),
            )
            for point in shown
        ],
    )
    if len(shown) < len(growth.points):
        render_text(f"{len(shown)} of {len(growth.points):,} commits shown; --json prints all")
    if not all(point.rows_are_exact for point in shown):
        render_text("~: estimate; Hudi does not record whether rows in log files are new")
    _render_problems(growth.problems)


def sample(points: "Sequence[GrowthPoint]", most: int = _MAX_POINTS) -> "list[GrowthPoint]":
    """Return at most `most` points, evenly sampled, including the first and the last."""
    if len(points) <= most:
        return list(points)
    last = len(points) - 1
    return [points[round(step * last / (most - 1))] for step in range(most)]


def _list_identity(identity: "Identity") -> Iterable[tuple[str, str]]:
    styles = {"hive style": identity.hive_style_partitions, "URL encoded": identity.url_encoded_partitions}
    style = ", ".join(name for name, on in styles.items() if on)
    partitions = f"{', '.join(identity.partition_fields)}{f' ({style})' if style else ''}"
    yield (
        "type",
        f"{identity.table_type}, table version {identity.table_version}, {identity.base_file_format}",
    )
    yield "record key", ", ".join(identity.record_keys) or "generated"
    yield "partition fields", partitions if identity.partition_fields else "none"
    yield "ordering fields", ", ".join(identity.ordering_fields) or "none"
    yield "merge mode", identity.merge_mode or ""
    yield "payload class", identity.payload_class or ""
    yield "key generator", identity.key_generator or ""
    yield "change data (CDC)", identity.cdc
    yield "Hudi meta fields", "populated" if identity.meta_fields else "not populated"
    yield "partition columns", "dropped from the files" if identity.partition_columns_dropped else ""
    yield "timeline timezone", identity.timezone
    yield "metadata table", ", ".join(identity.metadata_partitions) or "none"
    yield "  being built", ", ".join(identity.metadata_partitions_building)


def _name_state(one: "IndexDefinition") -> str:
    if one.problem:
        return "broken"
    return "built" if one.is_built else "not built"


def _list_amounts(found: "TableDescription") -> Iterable[tuple[str, str]]:
    totals = found.totals
    yield "created", f"{found.created_at:%Y-%m-%d %H:%M:%SZ}" if found.created_at else "no commit yet"
    yield "rows", "unknown" if found.rows is None else f"{found.rows:,}"
    yield (
        "bytes",
        f"{_format_bytes(totals.current_bytes)}; older states: {_format_bytes(totals.older_bytes)}",
    )
    yield "partitions", f"{totals.partitions:,}"
    yield "file groups", f"{totals.file_groups:,}, {totals.small_files:,} small"
    yield "log files", f"{totals.log_files:,}" if totals.log_files else ""
    yield "commits", f"{found.commits:,} active, {found.archived_commits:,} archived"
    yield "first commit", found.first_commit or ""
    if found.last_commit:
        yield "last commit", f"{found.last_commit.instant} ({found.last_commit.operation})"
    yield "pending actions", f"{found.pending_actions:,}: see `timeline`" if found.pending_actions else ""


def _list_cells(action: "Action") -> tuple[object, ...]:
    seconds = None if action.duration_seconds is None else f"{action.duration_seconds:.3f}"
    note = action.note
    if action.age_seconds is not None:
        age = f"since {timedelta(seconds=round(action.age_seconds))}"
        note = f"{age}, {note}" if note else age
    head = (action.instant, action.action, action.state, action.operation, action.requested_at, seconds)
    made = action.written
    if made is None:
        removed = None if action.files_deleted is None else f"-{action.files_deleted:,}"
        return (*head, None, None, None, None, removed, "unreadable" if action.problem else note)
    counts = (made.rows_inserted, made.rows_updated, made.rows_deleted, made.bytes_written)
    return (*head, *counts, made.files_written, note)


def _list_totals(totals: "LayoutTotals") -> Iterable[str]:
    yield (
        f"{totals.file_groups:,} file groups in {totals.partitions:,} partitions: {totals.base_files:,} base "
        f"files, {totals.log_files:,} log files, {_format_bytes(totals.current_bytes)}"
    )
    if totals.older_slices:
        yield f"{totals.older_slices:,} older slices: {_format_bytes(totals.older_bytes)}"
    if totals.cdc_bytes:
        yield f"change data (CDC) files: {_format_bytes(totals.cdc_bytes)}"
    if totals.uncommitted_files:
        yield (
            f"{totals.uncommitted_files:,} files of incomplete actions: "
            f"{_format_bytes(totals.uncommitted_bytes)}"
        )


def _render_problems(problems: Iterable[str]) -> None:
    for problem in problems:
        render_text(f"problem: {problem}")


def _format_bytes(count: int) -> str:
    from rich.filesize import decimal

    return decimal(count)
