"""A tiny table, written to the lake, read and removed: tests what only Spark can."""

import time
import uuid

from headwater.app.application import App
from headwater.errors import LakeError
from headwater.lake.jvm import delete_folder
from headwater.lake.layout import trial_path
from headwater.lake.options import WriteOptions
from headwater.lake.table import Table

ROWS = [(1, "one"), (2, "two")]


def try_table(app: App) -> float:
    """Return the seconds it took, including the start of the session. Leaves no file in the lake.

    Raises `PlatformError` when there is no session, `LakeError` when the lake refuses.
    """
    started = time.monotonic()
    path = trial_path(app.settings.lake, uuid.uuid4().hex)
    frame = app.spark.createDataFrame(ROWS, "id int, word string")
    try:
        table = Table(app.spark, path)
        table.write(frame, WriteOptions("trial", "insert", record_key=("id",)))
        found = table.read().count()
    finally:
        delete_folder(app.spark, path)
    if found != len(ROWS):
        raise LakeError(f"{path}: wrote {len(ROWS)} rows and read {found}", hint="please report this")
    return time.monotonic() - started
