"""The rows a table must hold, derived from the bucket alone."""

from collections import Counter
from collections.abc import Sequence

from simulator.contents import list_rows
from simulator.outside.bucket import Bucket, Version
from simulator.product.data_rows import DataRow, TableKind
from simulator.violation import InvariantBrokenError

ExpectedRow = tuple[str, int, str]
"""Key, row number and text of a row."""


def list_live_rows(bucket: Bucket) -> dict[str, list[ExpectedRow]]:
    """Lists the rows of the current objects in the bucket, by key."""
    return {
        key: [(key, number, text) for number, text in enumerate(list_rows(version.data or b""), 1)]
        for key, version in bucket.list_expected().items()
    }


def check_table(kind: TableKind, rows: Sequence[DataRow], bucket: Bucket, required: set[int]) -> None:
    """Raises `InvariantBrokenError` if the table is wrong. `required`: the writes that have an event."""
    if kind == "mirror":
        check_mirrored(rows, bucket)
        return
    live = list_live_rows(bucket)
    if kind == "append":
        _check_append(rows, bucket, required, live)
        return
    # A merge guarantees nothing once single versions are deleted: rows that another version overwrote do not
    # come back.
    live = {key: expected_rows for key, expected_rows in live.items() if key not in bucket.thinned}
    _check_merge([row for row in rows if row.key not in bucket.thinned], live)


def check_mirrored(rows: Sequence[DataRow], bucket: Bucket, only: str | None = None) -> None:
    """Checks that the rows are those of the objects in the bucket, or of one key."""
    live = {
        key: expected_rows
        for key, expected_rows in list_live_rows(bucket).items()
        if key not in bucket.unsure
    }
    rows = [row for row in rows if row.key not in bucket.unsure]
    wanted = Counter(
        row for key, expected_rows in live.items() if only in (None, key) for row in expected_rows
    )
    found = Counter((row.key, row.number, row.text) for row in rows)
    if found != wanted:
        extra, missing = list((found - wanted).elements()), list((wanted - found).elements())
        code = "I8" if extra and bucket.find_live(extra[0][0]) is None else "I4"
        raise InvariantBrokenError(code, f"mirror: too many {extra[:3]}, missing {missing[:3]}")


def _check_append(
    rows: Sequence[DataRow],
    bucket: Bucket,
    required: set[int],
    live: dict[str, list[ExpectedRow]],
) -> None:
    """Checks that each row comes from one write and exists once, and that no readable row is missing."""
    copies = Counter((row.key, row.number, row.text, row.version) for row in rows)
    puts: Counter[tuple[str, int, str, str]] = Counter()
    for key, versions in bucket.written.items():
        for version in versions:
            puts.update(_list_expected_rows(key, version))
    if copies - puts:
        extra = next((copies - puts).elements())
        raise InvariantBrokenError(
            "I5", f"append: {extra} is there {copies[extra]} times, written {puts[extra]}"
        )
    # A listing distinguishes contents, not versions.
    texts = {row[:3] for row in copies}
    for expected_rows in live.values():
        missing = [row for row in expected_rows if row not in texts]
        if missing:
            raise InvariantBrokenError("I4", f"append: what lies in the bucket is missing: {missing[0]}")
    if bucket.versioning == "off":
        return
    for key, versions in bucket.written.items():
        for version in versions:
            if version.order not in required or not bucket.find_version(key, version.version_id or ""):
                continue
            lost = [row for row in _list_expected_rows(key, version) if not copies[row]]
            if lost:
                raise InvariantBrokenError("I1", f"append: a version is missing: {lost[0]}")


def _list_expected_rows(key: str, version: Version) -> list[tuple[str, int, str, str]]:
    name = version.version_id or version.etag
    return [(key, number, text, name) for number, text in enumerate(list_rows(version.data or b""), 1)]


def _check_merge(rows: Sequence[DataRow], live: dict[str, list[ExpectedRow]]) -> None:
    """Checks that the newest content of each object wins; rows that only older contents had may stay."""
    found = {(row.key, row.number): row for row in rows}
    for expected_rows in live.values():
        for key, number, text in expected_rows:
            row = found.get((key, number))
            if row is None or row.text != text:
                raise InvariantBrokenError("I4", f"merge: {(key, number, text)} is {row and row.text!r}")
