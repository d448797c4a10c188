"""Deletes the rows of subjects from the newest state of a table, in one commit."""

from collections.abc import Callable, Sequence

from pyspark.sql import functions as F

from headwater.ingest.lineage import EVENT_ID, OBJECT, VERSION
from headwater.ingest.planning.lost_rows import LostRows
from headwater.lake.erasure.hashing import build_hash, match_any, pick_column
from headwater.lake.erasure.subjects import SubjectHasher
from headwater.lake.service_table import ServiceTable
from headwater.lake.services.deletion import Deletion, delete_found
from headwater.lake.table import Table

_SUBJECT = "_headwater_subject"


def erase_rows(
    service: ServiceTable,
    hasher: SubjectHasher,
    subjects: frozenset[str],
    record: Callable[[Sequence[LostRows]], None],
) -> Deletion:
    """Delete the rows; commit nothing without any. Raises `LakeError`.

    `record` stores to which objects they belonged, before the delete: a killed command is repeated.
    """
    rows = Table(service.spark, service.address.path).read()
    hashed = build_hash(hasher, pick_column(rows))
    found = rows.where(match_any(hashed, subjects))
    if OBJECT not in rows.columns:
        count = found.count()
        return delete_found(service, found, count) if count else Deletion(0)
    newest = service.load_timeline().commits[-1].requested
    write = [F.coalesce(F.col(name), F.lit("")) for name in (OBJECT, VERSION, EVENT_ID)]
    counted = found.groupBy(*write, hashed.alias(_SUBJECT)).agg(F.count(F.lit(1)))
    lost = [LostRows(row[0], row[1], row[2], row[3], row[4], newest) for row in counted.collect()]
    if not lost:
        return Deletion(0)
    record(lost)
    return delete_found(service, found, sum(one.rows for one in lost))
