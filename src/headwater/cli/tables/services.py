"""`headwater table NAME compact | cluster | clean | archive | savepoint | restore | rollback`."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from headwater.cli.invocation import JsonFlag
from headwater.cli.rendering import render_json, render_table, render_text
from headwater.cli.tables.named_table import NamedTable
from headwater.errors import UsageError

if TYPE_CHECKING:
    from headwater.lake.options import CleanBy
    from headwater.lake.service_result import Candidates, ServiceResult
    from headwater.lake.service_table import ServiceTable
    from headwater.lake.services.rollback import Undone

_MEGABYTE = 1024 * 1024
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print the plan without changing anything.")]


def register(group: typer.Typer) -> None:
    """Add the commands."""
    group.command("compact")(compact)
    group.command("cluster")(cluster)
    group.command("clean")(clean)
    group.command("archive")(archive)
    group.command("delete")(delete)
    group.command("savepoint")(savepoint)
    group.command("savepoints")(savepoints)
    group.command("restore")(restore)
    group.command("rollback")(rollback)


def compact(
    ctx: typer.Context,
    logs_only: Annotated[
        bool, typer.Option("--logs", help="Merge log files into one; base files stay unchanged.")
    ] = False,
    accept_loss: Annotated[
        bool,
        typer.Option("--accept-loss", help="Compact even if log files are corrupt; their rows are lost."),
    ] = False,
    dry_run: DryRun = False,
    as_json: JsonFlag = False,
) -> None:
    """Merge log files into base files (merge-on-read).

    While a run is active, this requires a `lock` and `services` other than inline.
    """
    from headwater.lake.services import compaction

    if logs_only and accept_loss:
        raise UsageError(
            "--accept-loss does not apply to --logs, which loses no rows", hint="omit one of the two options"
        )
    if dry_run:
        _, address = NamedTable.of(ctx).load()
        render_candidates(compaction.plan_compaction(address), "log files", as_json=as_json)
        return
    with open_table(ctx) as table:
        if logs_only:
            done = compaction.compact_logs(table)
        else:
            done = compaction.compact(table, accept_loss=accept_loss)
        render_result(done, "compacted", as_json=as_json)


def cluster(
    ctx: typer.Context,
    sort: Annotated[
        list[str] | None, typer.Option("--sort", metavar="COLUMN", help="Sort by this column. Repeatable.")
    ] = None,
    layout: Annotated[
        Literal["linear", "z-order", "hilbert"],
        typer.Option(
            "--layout", help="Sort order: by one column after another, or along a curve over all columns."
        ),
    ] = "linear",
    partitions: Annotated[
        list[str] | None,
        typer.Option("--partition", metavar="PATH", help="Restrict to this partition. Repeatable."),
    ] = None,
    target_mb: Annotated[
        int,
        typer.Option(
            "--target-mb", min=1, help="Target file size in MiB; files below 4/5 of it are rewritten."
        ),
    ] = 128,
    dry_run: DryRun = False,
    as_json: JsonFlag = False,
) -> None:
    """Rewrite small files into larger, sorted ones.

    While a run is active, this requires a `lock` and `services` other than inline.
    """
    from headwater.lake.services import clustering

    options = clustering.ClusterOptions(
        tuple(sort or ()), layout, target_mb * _MEGABYTE, tuple(partitions or ())
    )
    if dry_run:
        _, address = NamedTable.of(ctx).load()
        render_candidates(clustering.plan_clustering(address, options), "small files", as_json=as_json)
        return
    with open_table(ctx) as table:
        render_result(clustering.cluster(table, options), "clustered", as_json=as_json)


def clean(
    ctx: typer.Context,
    keep_commits: Annotated[
        int | None, typer.Option("--keep-commits", min=1, help="Keep the files of the newest N commits.")
    ] = None,
    keep_hours: Annotated[
        int | None,
        typer.Option("--keep-hours", min=1, help="Keep the files that queries of the last N hours need."),
    ] = None,
    keep_versions: Annotated[
        int | None, typer.Option("--keep-versions", min=1, help="Keep N versions of each file.")
    ] = None,
    dry_run: DryRun = False,
    as_json: JsonFlag = False,
) -> None:
    """Remove superseded files. Older states of the table can no longer be read.

    Without an option, the table's configuration applies. While a run is active, this requires a `lock`.
    """
    from headwater.lake.services import cleaning

    given: dict[CleanBy, int | None] = {
        "commits": keep_commits,
        "hours": keep_hours,
        "versions": keep_versions,
    }
    chosen = {by: count for by, count in given.items() if count is not None}
    if len(chosen) > 1:
        raise UsageError(
            "more than one retention policy", hint=f"specify only one of --keep-{', --keep-'.join(chosen)}"
        )
    policy = cleaning.CleanPolicy()
    for by, count in chosen.items():
        policy = cleaning.CleanPolicy(by, count)
    with open_table(ctx, is_writing=not dry_run) as table:
        if dry_run:
            plan = cleaning.plan_clean(table, policy)
            if as_json:
                render_json(
                    {"dry_run": True, "files": plan.files, "earliest_retained": plan.earliest_retained}
                )
                return
            render_text(f"would remove {len(plan.files):,} files{_describe_past(plan.earliest_retained)}")
            return
        done = cleaning.clean(table, policy)
    if as_json:
        render_json(done)
    else:
        render_text(f"removed {done.files:,} files{_describe_past(done.earliest_retained)}")


def _describe_past(earliest: str) -> str:
    return f"; earliest readable state: {earliest}" if earliest else ""


def archive(
    ctx: typer.Context,
    keep: Annotated[int, typer.Option("--keep", min=2, help="Commits to keep on the active timeline.")] = 20,
    as_json: JsonFlag = False,
) -> None:
    """Archive old instants of the timeline, except those that the cleaner still needs.

    While a run is active, this requires a `lock`.
    """
    from headwater.lake.services import archiving

    with open_table(ctx) as table:
        done = archiving.archive(table, keep)
    if as_json:
        render_json(done)
    else:
        render_text(f"{done.after:,} of {done.before:,} commits remain on the active timeline")


def delete(
    ctx: typer.Context,
    where: Annotated[
        str | None, typer.Option("--where", metavar="SQL", help="Delete the rows that match this condition.")
    ] = None,
    partitions: Annotated[
        list[str] | None,
        typer.Option("--partition", metavar="PATH", help="Delete this whole partition. Repeatable."),
    ] = None,
    dry_run: DryRun = False,
    as_json: JsonFlag = False,
) -> None:
    """Delete rows, or whole partitions, in one commit.

    Objects stay in the source; an object that is overwritten is ingested again. `verify` reports rows that a
    mirror lacks. While a run is active, this requires a `lock`.
    """
    from headwater.lake.services import deletion

    if (where is None) == (not partitions):
        raise UsageError(
            "neither or both of --where and --partition given", hint="specify either --where or --partition"
        )
    with open_table(ctx, is_own_refused=True, is_writing=not dry_run) as table:
        if where is not None:
            done = deletion.delete_rows(table, where, dry_run=dry_run)
        else:
            done = deletion.delete_partitions(table, tuple(partitions or ()), dry_run=dry_run)
    if as_json:
        render_json({"dry_run": dry_run, **asdict(done)})
    else:
        at = f" at {done.instant}" if done.instant else ""
        render_text(f"{'would delete' if dry_run else 'deleted'} {done.rows:,} rows{at}")


def savepoint(
    ctx: typer.Context,
    instant: Annotated[
        str | None, typer.Argument(metavar="[INSTANT]", help="Instant of a commit. Default: the newest.")
    ] = None,
    comment: Annotated[str, typer.Option("--comment", "-m", help="Reason, stored with the savepoint.")] = "",
    delete: Annotated[bool, typer.Option("--delete", help="Delete the savepoint at INSTANT.")] = False,
    dry_run: DryRun = False,
    as_json: JsonFlag = False,
) -> None:
    """Create a savepoint of the table: cleaning keeps its files, and `restore` returns to it."""
    from headwater.lake.services import savepoints as services

    if delete and instant is None:
        raise UsageError(
            "--delete requires INSTANT", hint="list the savepoints: headwater table NAME savepoints"
        )
    with open_table(ctx, is_writing=not dry_run) as table:
        if delete and instant is not None:
            services.delete_savepoint(table, instant)
            render_json({"deleted": instant}) if as_json else render_text(f"deleted savepoint {instant}")
            return
        made = services.create_savepoint(table, instant, comment, dry_run=dry_run)
    if as_json:
        render_json({"dry_run": dry_run, "savepoint": made})
    else:
        render_text(f"{'would create' if dry_run else 'created'} savepoint {made.instant}")


def savepoints(ctx: typer.Context, as_json: JsonFlag = False) -> None:
    """List the savepoints, oldest first."""
    from headwater.lake.services.savepoints import list_savepoints

    with open_table(ctx, is_writing=False) as table:
        found = list_savepoints(table)
    if as_json:
        render_json(found)
    elif found:
        render_table(("instant", "by", "comment"), [(s.instant, s.user, s.comment) for s in found])
    else:
        render_text("no savepoints")


def restore(
    ctx: typer.Context,
    instant: Annotated[
        str | None, typer.Argument(metavar="[INSTANT]", help="Instant of a savepoint. Default: the newest.")
    ] = None,
    dry_run: DryRun = False,
    as_json: JsonFlag = False,
) -> None:
    """Restore rows and checkpoint to a savepoint. Later commits are lost.

    The next `run` ingests the events since then again. Rejected while a run is active.
    """
    from headwater.lake.services import savepoints as services

    with open_table(ctx, is_own_refused=True, is_writing=not dry_run) as table:
        undone = (services.plan_restore if dry_run else services.restore)(table, instant)
    render_undone(undone, dry_run=dry_run, as_json=as_json)


def rollback(
    ctx: typer.Context,
    instant: Annotated[
        str | None,
        typer.Argument(metavar="[INSTANT]", help="Instant of the newest commit, as a confirmation."),
    ] = None,
    dry_run: DryRun = False,
    as_json: JsonFlag = False,
) -> None:
    """Roll back the newest commit, rows and checkpoint.

    The next `run` ingests its events again. Rejected while a run is active.
    """
    from headwater.lake.services import rollback as services

    with open_table(ctx, is_own_refused=True, is_writing=not dry_run) as table:
        undone = (services.plan_rollback if dry_run else services.roll_back)(table, instant)
    render_undone(undone, dry_run=dry_run, as_json=as_json)


@contextmanager
def open_table(
    ctx: typer.Context, command: str = "", *, is_own_refused: bool = False, is_writing: bool = True
) -> "Iterator[ServiceTable]":
    """Open the table of this command. Parameters and errors as `open_service_table`."""
    from headwater.app import App
    from headwater.app.command import open_service_table

    named = NamedTable.of(ctx)
    with open_service_table(
        App(named.invocation.load_settings()),
        named.name,
        command or ctx.info_name or "",
        is_own_refused=is_own_refused,
        is_writing=is_writing,
    ) as table:
        yield table


def render_candidates(found: "Candidates", what: str, *, as_json: bool) -> None:
    """Print what a service would process."""
    if as_json:
        render_json({"dry_run": True, "found": found})
        return
    render_text(
        f"{found.files:,} {what} in {found.file_groups:,} file groups of {found.partitions:,} partitions, "
        f"{found.bytes:,} bytes"
    )
    if found.pending:
        render_text(f"planned but not completed: {', '.join(found.pending)}")


def render_result(done: "ServiceResult", what: str, *, as_json: bool) -> None:
    """Print the result of a service."""
    if as_json:
        render_json(done)
    elif not done.instants:
        render_text("nothing to do")
    else:
        render_text(
            f"{what} at {', '.join(done.instants)}: {done.files:,} files, {done.rows:,} rows, "
            f"{done.bytes:,} bytes, {done.seconds:.1f} s"
        )


def render_undone(undone: "Undone", *, dry_run: bool, as_json: bool) -> None:
    """Print the commits that are rolled back."""
    if as_json:
        render_json({"dry_run": dry_run, "commits": undone.commits})
    else:
        verb = "would roll back" if dry_run else "rolled back"
        render_text(f"{verb} {len(undone.commits):,} commits: {', '.join(undone.commits) or 'none'}")
