"""Plans one batch of a derived table: what to read of each source since its watermark. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from headwater.lake.queries.change_plan import ChangePlan


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """The plans of all sources of one table, by source.

    One commit advances the watermarks of all of them.
    """

    by_source: Mapping[str, ChangePlan]

    @property
    def kind(self) -> Literal["nothing", "changes", "all"]:
        """Return what the batch reads: everything if the changes of one source are unknown."""
        kinds = {plan.kind for plan in self.by_source.values()}
        return "all" if "all" in kinds else "changes" if "changes" in kinds else "nothing"

    @property
    def as_of(self) -> dict[str, str]:
        """Return the watermarks after the batch."""
        return {source: plan.upto for source, plan in self.by_source.items()}

    @property
    def changed(self) -> dict[str, ChangePlan]:
        """Return the plans of the sources with new commits."""
        return {source: plan for source, plan in self.by_source.items() if plan.kind != "nothing"}
