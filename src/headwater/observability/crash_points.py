"""Named points where a test may kill the process: no-ops unless `arm_crash_point` was called.

HEADWATER_CRASH_POINT=name[:n] arms one through the CLI. The whole process group dies, including the JVM, so a
test starts the process in a separate session.
"""

import os
import signal
import sys
import threading
from typing import Literal, get_args

CRASH_POINT_VARIABLE = "HEADWATER_CRASH_POINT"

CrashPointName = Literal[
    # messages are in flight, none of them is written
    "after_receive",
    # a batch is closed; its quarantine items are not written
    "before_quarantine_commit",
    # quarantine items are written; events are not
    "before_events_commit",
    # events are written; no message of the batch is deleted
    "after_events_commit",
    # some messages of a batch are deleted, others are not
    "mid_delete",
    # a data table's batch is read; nothing of it is written
    "before_data_commit",
    # a data table's batch is read; its quarantine items are not written
    "before_ingest_quarantine_commit",
    # the deletes of a batch of changes are remembered; its rows are not written
    "after_tombstones_commit",
    # rows and checkpoint are written; observers are not notified
    "after_data_commit",
    # events of a reconcile are written; its cursor is not
    "after_reconcile_commit",
    # a reconcile's cursor is written; the rest of the bucket, if any, is not listed
    "after_reconcile_cursor",
    # the decision that objects may leave the source is written; none has left
    "after_clean_commit",
    # some objects of a batch have left the source, others have not
    "mid_clean",
    # rows are written, or the start of a table is decided; the ledger is not written
    "before_ledger_commit",
    # changes of a derived table's source are read; nothing of them is written
    "before_derived_commit",
    # rows and checkpoint of a derived table are written; observers are not notified
    "after_derived_commit",
    # chunks are embedded; nothing of them is written
    "before_chunks_commit",
    # chunks and their checkpoint are written; observers are not notified
    "after_chunks_commit",
    # a page of new points is about to be written to the index
    "before_index_upsert",
    # it is written; older points and the checkpoint are unchanged
    "after_index_upsert",
    # fields of points are written; the checkpoint is unchanged
    "after_index_fields",
    # new points are written; points to be deleted still exist
    "before_index_delete",
    # points are deleted; the checkpoint is unchanged
    "after_index_delete",
    # the index equals the chunks; its checkpoint is not updated
    "before_index_checkpoint",
    # the checkpoint is written; observers are not notified
    "after_index_checkpoint",
    # a new version of the index is complete; the old one is live
    "before_index_switch",
    # events of an adopted pipeline are written, more may follow; no table has a checkpoint
    "after_adopted_events",
    # the checkpoint of one adopted table is written, those of others may follow
    "after_adopted_table",
    # subjects are suppressed; their rows are not deleted
    "after_suppression",
    # rows of forgotten subjects are deleted; their older files still exist
    "after_forget_delete",
    # their older files are cleaned; nothing is scanned
    "after_forget_clean",
    # some files of a backup are copied, others are not
    "mid_backup",
    # all files of a backup are copied; its manifest is not written
    "before_backup_manifest",
    # some files of a restore are written, others are not
    "mid_restore",
    # manifests of an Iceberg view are written; the view still shows the previous commit
    "before_view_version",
]


class _ArmedPoint:
    """Counts down to the hit that kills."""

    def __init__(self, name: str, hits: int) -> None:
        self._name = name
        self._left = hits
        self._lock = threading.Lock()

    def hit(self, name: str) -> None:
        if name != self._name:
            return
        with self._lock:
            self._left -= 1
            if self._left:
                return
            print(f"crash point {name}: killing the process group", file=sys.stderr, flush=True)
            os.killpg(os.getpgrp(), signal.SIGKILL)


_armed: list[_ArmedPoint] = []


def crash_point(name: CrashPointName) -> None:
    """Kill the process if this is the armed point and its n-th hit. Thread-safe; no cost when nothing is
    armed."""
    if _armed:
        _armed[0].hit(name)


def arm_crash_point(spec: str | None) -> None:
    """Arm `name` (first hit) or `name:n` (n-th hit); None or "" disarms.

    Raises `ValueError` for an unknown name or a number below 1.
    """
    _armed.clear()
    if not spec:
        return
    name, _, text = spec.partition(":")
    names = get_args(CrashPointName)
    if name not in names:
        raise ValueError(f"{CRASH_POINT_VARIABLE}={spec}: no such crash point; allowed: {', '.join(names)}")
    if text and not (text.isdecimal() and int(text) >= 1):
        raise ValueError(f"{CRASH_POINT_VARIABLE}={spec}: {text!r} is not an integer of at least 1")
    _armed.append(_ArmedPoint(name, int(text or 1)))
