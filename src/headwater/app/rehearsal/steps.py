"""What it takes to apply a new file to a table. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from headwater.app.rehearsal.changes import TableChange
from headwater.config.settings import Settings
from headwater.ingest.rehearsal.differences import RowDifferences, SchemaDifferences
from headwater.lake.layout import table_path

Cost = Literal["nothing", "next_run", "replay", "routing", "rebuild"]
"""`next_run`: a run applies the change, and rows that exist stay or are recomputed by it. `replay`: objects
ingested from then on follow the new file, a replay the others. `routing`: the same for a changed selection.
`rebuild`: a run rejects the table until it is rebuilt."""

_RUN = "headwater run --once"
_ROUTING = "headwater routing --apply"


@dataclass(frozen=True, slots=True)
class Application:
    """The cost of a table's change, why, and the commands that apply it after the file was replaced.

    `selects`: the table takes other objects, which `routing --apply` loads and retracts.
    """

    cost: Cost
    reasons: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    selects: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """What a rehearsal found: why a run would reject the table, and the differences."""

    refusals: Sequence[str]
    schema: SchemaDifferences
    rows: RowDifferences


def plan_application(change: TableChange, new: Settings, found: Found) -> Application:
    """Return what applies the change of one table."""
    name, config = change.table, new.tables[change.table]
    effects = {key.effect for key in change.keys}
    if change.state == "added":
        return Application("next_run", ("the next run builds it from all events",), (_RUN,))
    # What a transform or a query returns may have other types in the next run: only a rebuild is certain.
    may_widen = config.from_ is None and not config.transform
    if reasons := [*found.refusals, *_list_type_changes(found.schema, may_widen=may_widen)]:
        lost = _explain_lost(found.rows)
        return Application("rebuild", (*reasons, *lost), _list_rebuild(name, new))
    selects = "selection" in effects
    routing = (_ROUTING,) if selects else ()
    if config.from_ is not None:
        reasons = ["the next run recomputes the table, and commits the differences"] if effects else []
        return Application("next_run" if effects else "nothing", tuple(reasons), (_RUN,) if effects else ())
    if "rows" in effects:
        replay = f"headwater replay --table {name} --since 1970-01-01"
        reasons = _explain_replay(config.effective_mode, found.rows)
        return Application("replay", tuple(reasons), (*routing, replay), selects)
    if selects:
        reasons = ["new events follow the new rules; `routing --apply` loads and retracts the other objects"]
        return Application("routing", tuple(reasons), routing, selects)
    return Application("next_run" if effects else "nothing")


def _explain_lost(rows: RowDifferences) -> list[str]:
    what = "rows of objects in the window that were overwritten or removed since"
    return [f"a rebuild loses {rows.lost:,} {what}"] if rows.lost else []


def _list_type_changes(schema: SchemaDifferences, *, may_widen: bool) -> list[str]:
    return [
        f"column {one.column} is {one.now} now and {one.new} with the new file"
        for one in schema.changed
        if not (may_widen and one.widens)
    ]


def _list_rebuild(name: str, new: Settings) -> tuple[str, ...]:
    return (f"delete the folder {table_path(new.lake, name)}", _RUN)


def _explain_replay(mode: str, rows: RowDifferences) -> list[str]:
    reasons = ["objects ingested from now on follow the new file; a replay re-ingests the others"]
    if mode == "merge" and rows.only_now:
        reasons.append(
            "a replay deletes no row of a merge: rows that only the current file makes stay until a rebuild"
        )
    return reasons
