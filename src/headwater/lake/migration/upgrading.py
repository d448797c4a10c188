"""Upgrades or downgrades a table to another Hudi table version with Hudi's own steps."""

from dataclasses import dataclass

from headwater.errors import LakeError
from headwater.lake.jvm import explained_lake
from headwater.lake.migration.versions import Direction, VersionPlan, plan_versions
from headwater.lake.options import service_options
from headwater.lake.prerequisites.run_log import describe_run_log
from headwater.lake.service_table import ServiceTable
from headwater.lake.table_folder import TableFolder


@dataclass(frozen=True, slots=True)
class PropertyChange:
    """A changed table property; empty if it did not exist before, or does not exist after."""

    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class VersionChange:
    """The result: the plan and the changed table properties."""

    plan: VersionPlan
    properties: tuple[PropertyChange, ...]


def change_version(table: ServiceTable, direction: Direction, target: int | None) -> VersionChange:
    """Run the steps of `plan_versions`; does nothing without steps.

    Raises `UsageError` and `LakeError`. A retry after an interruption resumes from the version reached.
    """
    address = table.address
    before = TableFolder(address).properties
    plan = plan_versions(address.name, before, direction, target)
    if not plan.steps:
        return VersionChange(plan, ())
    with explained_lake(address.path):
        options = service_options(before.raw, table.extra)
        table.java.change_table_version(table.load_meta_client(), address.name, plan.after, options)
    after = TableFolder(address).properties
    reached = after.read_number("table_version", 0)
    if reached != plan.after:
        raise LakeError(
            f"{address.path}: the table has version {reached}, not {plan.after}",
            hint=f"try again; {describe_run_log()}",
        )
    names = sorted({*before.raw, *after.raw})
    pairs = [PropertyChange(name, before.raw.get(name, ""), after.raw.get(name, "")) for name in names]
    return VersionChange(plan, tuple(pair for pair in pairs if pair.before != pair.after))
