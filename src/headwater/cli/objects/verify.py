"""`headwater verify`: compares the tables with the bucket, and lists the differences."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headwater.cli.invocation import Invocation, JsonFlag, open_app
from headwater.cli.rendering import render_json, render_table, render_text
from headwater.cli.table_names import TablesOption
from headwater.errors import UsageError

if TYPE_CHECKING:
    from headwater.app.objects.verify import VerifyReport
    from headwater.ingest.planning.verification import DeepCounts, TableVerification

INCOMPLETE = 3


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("verify")(verify)


def verify(
    ctx: typer.Context,
    tables: TablesOption = None,
    repair: Annotated[
        bool,
        typer.Option(
            "--repair", help="Ingest missing objects, then verify again. Rejected while a run is active."
        ),
    ] = False,
    folders: Annotated[
        int,
        typer.Option("--folders", min=0, metavar="DEPTH", help="Also count by folder, down to this depth."),
    ] = 0,
    deep: Annotated[
        bool, typer.Option("--deep", help="Also re-read the objects and compare them row by row.")
    ] = False,
    sample: Annotated[
        int, typer.Option("--sample", min=1, metavar="N", help="With --deep: sample about one object in N.")
    ] = 1,
    as_json: JsonFlag = False,
) -> None:
    """Compare the bucket with the events, the ledger and the rows of every table.

    Exit code 3: objects or rows are missing, wrong or in quarantine, or files are corrupt.
    """
    from headwater.app.objects.verify import Verify
    from headwater.app.scope import build_scope, list_buckets

    only = tuple(tables or ())
    if sample > 1 and not deep:
        raise UsageError("--sample requires --deep", hint="add --deep")
    settings = Invocation.of(ctx).load_settings()
    for name in only:
        if name not in settings.derived_tables:
            build_scope(settings, name)
    with open_app(ctx, writing="verify --repair" if repair else "") as app:
        comparison = Verify(app, deep=sample if deep else 0)
        repaired = comparison.repair(only) if repair else 0
        report = comparison.run(only, folders)
        report.repaired = repaired
    if as_json:
        render_json(build_json(report))
    else:
        render_report(report, repair=repair, names_bucket=len(list_buckets(settings)) > 1)
    if not report.is_complete:
        raise typer.Exit(INCOMPLETE)


def build_json(report: "VerifyReport") -> dict[str, Any]:
    """Return the document that `--json` prints."""
    return {
        "complete": report.is_complete,
        "watermark": report.watermark,
        "started_at": report.started_at,
        "repaired": report.repaired,
        "derived": report.derived,
        "tables": {
            name: {
                "complete": table.is_complete,
                **table.counts.list_counts(),
                "watermark": table.watermark,
                "reasons": dict(table.counts.reasons),
                "deep": table.deep,
                "damaged": table.damaged,
                "outside": table.outside,
                "folders": {folder: counts.list_counts() for folder, counts in table.folders.items()},
                "problems": [
                    {"kind": found.kind, "bucket": found.bucket, "key": found.key, "detail": found.detail}
                    for found in table.problems
                ],
            }
            for name, table in report.tables.items()
        },
    }


def render_report(report: "VerifyReport", *, repair: bool, names_bucket: bool = False) -> None:
    """Print the report as text. `names_bucket`: several buckets may have the same key."""
    if report.repaired:
        render_text(f"{report.repaired:,} objects re-ingested.\n")
    rows = {name: table.counts for name, table in report.tables.items()}
    if rows:
        _render_counts("table", rows)
    for name, following in report.derived.items():
        render_text(f"{name}: not compared with objects; it {following.describe()}")
    for name, table in report.tables.items():
        if table.folders:
            render_text("")
            _render_counts(f"{name}: folder", table.folders)
        if table.deep:
            render_text(f"{name}: {describe_deep(table.deep)}")
        for reason, count in sorted(table.counts.reasons.items()):
            render_text(f"{name}: {count:,} {reason}")
        for corrupt_file in table.damaged:
            render_text(f"{name}: corrupt: {corrupt_file.describe()}")
        if table.outside.rows:
            render_text(
                f"{name}: {table.outside.rows:,} rows of {table.outside.objects:,} objects outside the "
                f"source, such as {table.outside.example}"
            )
        for found in table.problems:
            key = f"{found.key} in {found.bucket}" if names_bucket else found.key
            render_text(f"{name}: {found.kind.replace('_', ' ')}: {key}: {found.detail}")
    if not rows:
        return
    _render_ends(report, repair=repair)


def _render_ends(report: "VerifyReport", *, repair: bool) -> None:
    when = report.watermark.strftime("%Y-%m-%d %H:%M:%SZ")
    render_text(f"\nAll changes before {when} are in the tables or accounted for.")
    late = [name for name, table in report.tables.items() if table.counts.pending]
    if late:
        render_text(
            f"Pending in {', '.join(late)}: captured later, or not ingested because the table fails. "
            "Ingest them, or see the reason: headwater run --once"
        )
    if any(table.problems for table in report.tables.values()) and not repair:
        render_text("Ingest missing objects: headwater verify --repair")
    if any(table.outside.rows for table in report.tables.values()):
        render_text(
            "For rows of another source, set source.moved_from if its objects were moved here, or delete "
            "them:\n"
            "  headwater table NAME delete --where \"_headwater_object like 'ADDRESS%'\""
        )
    if any(table.damaged for table in report.tables.values()):
        render_text("Check the corrupt files: headwater table NAME check")
    if any(table.counts.quarantined for table in report.tables.values()):
        render_text("List the quarantine: headwater quarantine list")


def describe_deep(counts: "DeepCounts") -> str:
    """Return the result of re-reading objects, as a sentence."""
    others = ((counts.changed, "changed since"), (counts.unread, "unreadable"))
    return (
        f"{counts.objects:,} objects with {counts.rows:,} rows re-read, {counts.differing:,} differ"
        + "".join(f", {count:,} {text}" for count, text in others if count)
    )


def _render_counts(title: str, rows: "Mapping[str, TableVerification]") -> None:
    counts = {name: found.list_counts() for name, found in rows.items()}
    names = [name.replace("_", " ") for name in next(iter(counts.values()))]
    render_table((title, *names), [(name, *found.values()) for name, found in counts.items()])
