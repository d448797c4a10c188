"""`headwater table NAME expire`."""

from dataclasses import asdict
from datetime import datetime, timezone
from typing import Annotated

import typer

from headwater.cli.invocation import JsonFlag
from headwater.cli.rendering import render_json, render_text
from headwater.cli.tables.services import DryRun, open_table


def register(group: typer.Typer) -> None:
    """Add the command."""
    group.command("expire")(expire)


def expire(
    ctx: typer.Context,
    days: Annotated[
        int | None,
        typer.Option(
            "--days", min=1, help="Days since a partition's last commit. Default: `keep_partition_days`."
        ),
    ] = None,
    dry_run: DryRun = False,
    as_json: JsonFlag = False,
) -> None:
    """Delete the partitions without recent writes, in one commit.

    While a run is active, this requires a `lock`.
    """
    from headwater.lake.services.expiry import expire_partitions

    with open_table(ctx, is_own_refused=True, is_writing=not dry_run) as table:
        done = expire_partitions(table, datetime.now(timezone.utc), days, dry_run=dry_run)
    if as_json:
        render_json({"dry_run": dry_run, **asdict(done)})
        return
    at = f" at {done.instant}" if done.instant else ""
    names = f": {', '.join(done.partitions)}" if done.partitions else ""
    verb = "would delete" if dry_run else "deleted"
    render_text(f"{verb} {len(done.partitions):,} partitions with {done.rows:,} rows{at}{names}")
