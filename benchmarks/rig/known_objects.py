"""A table that already knows many objects: what a long life leaves in its ledger."""

from pathlib import Path

from benchmarks.rig.folders import run_batches, write_files
from benchmarks.rig.orders import announce_files
from headwater.app import App
from headwater.capture.position import Position
from headwater.ingest.ledger.watermark import Watermark
from headwater.lake.layout import table_path
from headwater.lake.table import Table

_FIRST = 9_999_999


def commit_first(app: App, landing: Path) -> Watermark:
    """Ingest one object of table `orders`. Gives the watermark of that commit.

    A ledger as of a commit that the table does not have would be emptied: the table was rolled back.
    """
    app.events.append(announce_files(landing, write_files(landing, [_FIRST])))
    run_batches(app.build_pipeline("orders"))
    ((commit, metadata),) = (
        Table(app.spark, table_path(app.settings.lake, "orders")).load_timeline().iter_metadata("")
    )
    return Watermark(commit.completed, Position.parse(metadata["checkpoint"]))
