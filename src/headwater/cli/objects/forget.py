"""`headwater forget`: erases subjects from a table and its derived tables, and proves it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headwater.cli.invocation import JsonFlag, open_app
from headwater.cli.rendering import render_json, render_text
from headwater.errors import UsageError

if TYPE_CHECKING:
    from headwater.app.erasure.command import Subjects
    from headwater.app.erasure.report import ErasureReport

INCOMPLETE = 3


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("forget")(forget)


def forget(  # noqa: PLR0913, PLR0917 - one parameter per option
    ctx: typer.Context,
    table: Annotated[str, typer.Argument(metavar="TABLE", help="A table built from objects.")],
    keys: Annotated[
        list[str] | None, typer.Option("--key", metavar="VALUE", help="A key to forget. Repeatable.")
    ] = None,
    keys_file: Annotated[
        Path | None,
        typer.Option("--keys-file", metavar="FILE", help="Keys as CSV with a header, or as JSON lines."),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option("--by", metavar="COLUMN", help="The columns of the keys. Default: the record key."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Erase; without it, only show what is found.")] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Forget all suppressed keys again, as after a restore.")
    ] = False,
    release: Annotated[
        bool, typer.Option("--release", help="Allow these keys again; restores no rows.")
    ] = False,
    list_: Annotated[bool, typer.Option("--list", help="Show how many keys are suppressed.")] = False,
    check: Annotated[
        Path | None,
        typer.Option("--check", metavar="REPORT", help="Verify a report's signature, and scan again."),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Erase the rows of keys from all files of a table, keep them out, and write a signed report.

    Includes derived tables, chunks, index and quarantined records. Later reads of the same objects leave
    these rows out. Savepoints and objects that still have them are named. Rejected while a run is active.
    Repeat an interrupted command. Exit code 3: some files still have, or may have, rows of the keys.
    """
    from headwater.app.erasure.command import Subjects

    subjects = Subjects(tuple(keys or ()), keys_file, tuple(by or ()), again)
    names = {"--yes": yes, "--release": release, "--list": list_, "--check": check is not None}
    if len(given := [name for name, is_given in names.items() if is_given]) > 1:
        raise UsageError(f"{' and '.join(given)} exclude each other", hint=f"specify {' or '.join(given)}")
    if list_:
        _list(ctx, table, as_json=as_json)
    elif check is not None:
        _check(ctx, table, check, as_json=as_json)
    elif release:
        _release(ctx, table, subjects, as_json=as_json)
    else:
        _forget(ctx, table, subjects, yes=yes, as_json=as_json)


def _forget(ctx: typer.Context, table: str, subjects: "Subjects", *, yes: bool, as_json: bool) -> None:
    from headwater.app.erasure.command import build_erasures
    from headwater.config.environment import read_environment
    from headwater.observability.crash_points import CRASH_POINT_VARIABLE, arm_crash_point

    arm_crash_point(read_environment().get(CRASH_POINT_VARIABLE))
    with open_app(ctx, checked=yes, writing="forget" if yes else "") as app:
        erasures = build_erasures(app, table, subjects, dry_run=not yes)
        reports = [one.run() if yes else one.plan() for one in erasures]
    _render(reports, as_json=as_json)
    if not yes:
        if not as_json:
            render_text("nothing was changed: add --yes to erase")
        return
    if not all(report.is_erased for report in reports):
        raise typer.Exit(INCOMPLETE)


def _render(reports: "list[ErasureReport]", *, as_json: bool) -> None:
    from headwater.app.erasure.report import describe, to_document

    if as_json:
        render_json({"reports": [to_document(report) for report in reports]})
        return
    for report in reports:
        for line in describe(report):
            render_text(line)
        if report.address:
            state = "erased" if report.is_erased else "not erased everywhere"
            render_text(f"{state}; signed report: {report.address}")


def _release(ctx: typer.Context, table: str, subjects: "Subjects", *, as_json: bool) -> None:
    from headwater.app.erasure.command import release

    with open_app(ctx, checked=False, writing="forget") as app:
        count = release(app, table, subjects)
    if as_json:
        render_json({"released": count})
    else:
        render_text(f"{count:,} keys are allowed again; the next read of their objects adds their rows")


def _list(ctx: typer.Context, table: str, *, as_json: bool) -> None:
    from headwater.app.erasure.command import list_suppressed

    with open_app(ctx, checked=False) as app:
        found = list_suppressed(app, table)
    if as_json:
        render_json({"suppressed": found})
    for one in () if as_json else found:
        render_text(f"{one.subjects:,} keys by {', '.join(one.columns)}")
    if not (as_json or found):
        render_text("no key is suppressed")


def _check(ctx: typer.Context, table: str, path: Path, *, as_json: bool) -> None:
    from headwater.app.erasure.command import check_report
    from headwater.app.erasure.report import describe, to_document

    with open_app(ctx, checked=False) as app:
        checked = check_report(app, table, path)
    if as_json:
        scanned = to_document(checked.scanned)
        render_json({"signature": "valid", "erased": checked.is_erased, "scanned": scanned})
    else:
        render_text(f"{path}: the signature is valid; scanned again:")
        for line in describe(checked.scanned):
            render_text(line)
    if not checked.is_erased:
        raise typer.Exit(INCOMPLETE)
