"""Computes the net changes between two snapshots, including deletes, without a JVM or a change log.

Rows are compared by partition, record key and Hudi's commit sequence number, which file rewrites preserve.
The result is exact and net: a row that was inserted and deleted in between is omitted. Only file groups whose
files differ are read.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc
from hudi import HudiFileSlice

from headwater.errors import LakeError
from headwater.lake.queries.history import Step
from headwater.lake.queries.rows import Row, iter_rows
from headwater.lake.snapshot_reader import COMMIT_TIME, Scan, SnapshotReader

Op = Literal["i", "u", "d"]
PARTITION, KEY, NUMBER = "_hoodie_partition_path", "_hoodie_record_key", "_hoodie_commit_seqno"
_OWN_PREFIX = "_hoodie_"
_IDENTITY = (PARTITION, KEY, NUMBER)
_SEPARATOR = "\x1f"
_LOG_INSTANT = re.compile(r"_(\d{17})\.log\.")


@dataclass(frozen=True, slots=True)
class Change:
    """The change of a row: `row` is the new state, or the last state before a delete.

    `commit` is the requested time and `completed` the completion time of its commit. A delete that any of
    several commits may have made has no `commit`, and `completed` is an upper bound.
    """

    op: Op
    commit: str | None
    completed: str
    key: str
    partition: str
    row: Row

    @property
    def images(self) -> tuple[Row, ...]:
        """The row."""
        return (self.row,)


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """All changes of one step, read and counted. Iterates in order of completion.

    Exception: deletes of keys that moved to another partition come first, before the key is inserted there.
    """

    step: Step
    deleted: pa.Table
    written: pa.Table
    inserted: pa.ChunkedArray = field(repr=False)
    """For each written row, whether it is an insert."""

    @property
    def completed(self) -> str:
        """The completion time of the last commit in the step."""
        return self.step.after.completed

    def __len__(self) -> int:
        return int(self.deleted.num_rows + self.written.num_rows)

    def __iter__(self) -> Iterator[Change]:
        has_moved = pc.is_in(self.deleted[KEY], value_set=self.written[KEY])
        yield from self._iter_deletes(self.deleted.filter(has_moved))
        completed = {commit.requested: commit.completed for commit in self.step.commits}
        for row, is_new in zip(_iter_rows(self.written), self.inserted, strict=True):
            commit = str(row[COMMIT_TIME])
            yield _build_change(
                "i" if is_new.as_py() else "u", row, commit, completed.get(commit, self.completed)
            )
        yield from self._iter_deletes(self.deleted.filter(pc.invert(has_moved)))

    def _iter_deletes(self, deleted: pa.Table) -> Iterator[Change]:
        commit = self.step.commits[0].requested if len(self.step.commits) == 1 else None
        for row in _iter_rows(deleted):
            yield _build_change("d", row, commit, self.completed)


def read_changes(reader: SnapshotReader, step: Step) -> ChangeSet:
    """Compare two snapshots. Holds the keys of changed file groups and the changed rows in memory.

    Raises `InstantUnavailableError` if a clean removes their files during the read, else `LakeError`.
    """
    return compare_parts(step, *open_parts(reader, step))


def compare_parts(step: Step, earlier: "Part", later: "Part") -> ChangeSet:
    """Compare the parts of both snapshots. Raises as `read_changes`."""
    before, after = earlier.read(_IDENTITY), later.read(_IDENTITY)
    superseded = _keep(before, identify(before), identify(after), wanted=False)
    fresh = _keep(after, identify(after), identify(before), wanted=False)
    lost = _keep(superseded, identify(superseded, 2), identify(fresh, 2), wanted=False)
    written = _read_rows(later, step.before.requested, fresh)
    written = written.sort_by([(COMMIT_TIME, "ascending"), (NUMBER, "ascending")])
    return ChangeSet(
        step,
        _read_rows(earlier, "", lost),
        written,
        pc.invert(pc.is_in(identify(written, 2), value_set=identify(superseded, 2))),
    )


@dataclass(frozen=True, slots=True)
class Part:
    """Some file slices of one snapshot."""

    reader: SnapshotReader
    snapshot: str
    slices: Sequence[HudiFileSlice]

    def read(self, columns: Sequence[str] | None = None, after: str = "") -> pa.Table:
        """Read the rows, or those of commits requested later than `after`."""
        return self.reader.read_slices(self.slices, Scan(self.snapshot, after), columns)


def open_parts(reader: SnapshotReader, step: Step) -> tuple[Part, Part]:
    """Return the parts of both snapshots whose files differ. Raises `LakeError`."""
    missing = [name for name in _IDENTITY if name not in reader.schema.names]
    if missing:
        raise LakeError(
            f"{reader.path}: rows cannot be identified without {', '.join(missing)}",
            hint="the table was created without Hudi's metadata columns (populate.meta.fields)",
        )
    shows_before, shows_after = step.snapshots
    before = reader.list_slices(Scan(shows_before)) if shows_before else []
    after = reader.list_slices(Scan(shows_after))
    known, current = _name_bases(before), _name_bases(after)
    changed = {
        _name_group(one)
        for one in after
        if known.get(_name_group(one)) != one.base_file_name or _has_later_log(one, shows_before)
    }
    changed |= known.keys() - current.keys()
    return (
        Part(reader, shows_before, [one for one in before if _name_group(one) in changed]),
        Part(reader, shows_after, [one for one in after if _name_group(one) in changed]),
    )


def _name_bases(slices: Sequence[HudiFileSlice]) -> dict[tuple[str, str], str]:
    return {_name_group(one): one.base_file_name for one in slices}


def _name_group(one: HudiFileSlice) -> tuple[str, str]:
    return one.partition_path, one.file_id


def _has_later_log(one: HudiFileSlice, snapshot: str) -> bool:
    # A log file of a table since Hudi 1.0 has the instant of its commit in its name.
    instants = [_LOG_INSTANT.search(name) for name in one.log_file_names]
    return any(found is None or found[1] > snapshot for found in instants)


def _read_rows(part: Part, after: str, wanted: pa.Table) -> pa.Table:
    """Read the complete rows for `wanted`. Raises `LakeError` if the counts differ."""
    reader = part.reader
    if not wanted.num_rows:
        return reader.schema.empty_table()
    rows = part.read(after=after)
    found = _keep(rows, identify(rows), identify(wanted), wanted=True)
    if found.num_rows != wanted.num_rows:
        raise LakeError(
            f"{reader.path}: {wanted.num_rows} rows have changed, but only {found.num_rows} of them can be "
            "read",
            hint="`--since earliest` reads the whole table again",
        )
    return found


def identify(table: pa.Table, parts: int = len(_IDENTITY)) -> pa.ChunkedArray:
    """Return partition and record key of each row as one text; with three parts, also what wrote it."""
    columns = [pc.fill_null(table[name].cast(pa.string()), "") for name in _IDENTITY[:parts]]
    return pc.binary_join_element_wise(*columns, _SEPARATOR)


def _keep(table: pa.Table, have: pa.ChunkedArray, others: pa.ChunkedArray, *, wanted: bool) -> pa.Table:
    """Return the rows that are in `others`, or with `wanted=False` the rest."""
    found = pc.is_in(have, value_set=others)
    return table.filter(found if wanted else pc.invert(found))


def _iter_rows(table: pa.Table) -> Iterator[Row]:
    for batch in table.to_batches():
        yield from iter_rows(batch, table.schema.names)


def _build_change(op: Op, row: Row, commit: str | None, completed: str) -> Change:
    return Change(
        op=op,
        commit=commit,
        completed=completed,
        key=str(row[KEY]),
        partition=str(row[PARTITION] or ""),
        row={name: value for name, value in row.items() if not name.startswith(_OWN_PREFIX)},
    )
