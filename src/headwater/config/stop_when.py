"""`stop_when:` when a continuous run ends by itself."""

from pydantic import Field

from headwater.config.section import Duration, Section


class StopWhenConfig(Section):
    """When a run without `--once` ends by itself; by the first of these, or only by a signal."""

    idle_for: Duration = Field(
        0,
        description="End after this time without a notification, a batch or a failure that is retried; "
        "off: never.",
        examples=["10m"],
    )
    rows: int | None = Field(
        None, ge=1, description="End once the run has committed so many rows to all tables."
    )
    deadline: Duration = Field(
        0,
        description="End after this time, whether the source is drained or not; off: never.",
        examples=["2h"],
    )

    @property
    def is_set(self) -> bool:
        """True if the run may end by itself."""
        return bool(self.idle_for or self.rows or self.deadline)
