"""`reconcile:`"""

from pydantic import Field

from headwater.config.section import Duration, Section


class ReconcileConfig(Section):
    """Listings of the source that find objects with lost notifications, concurrently with the
    notifications."""

    include_existing_files: bool = Field(
        True,
        description="List the source at the start of each run, including objects from before the first run; "
        "false excludes those.",
    )
    backfill_interval: Duration = Field(
        86_400, description="Interval between listings: seconds or `12 hours`, `1 day`; 0 or off: never."
    )
    settle_seconds: float = Field(
        60,
        ge=0,
        le=86_400,
        description="Minimum age of objects to compare; newer ones wait for their notifications or the next "
        "listing.",
    )
    max_requests_per_second: float = Field(
        100, ge=0.1, le=3_500, description="Maximum listing requests per second, of 1,000 objects each."
    )
    checkpoint_objects: int = Field(
        100_000,
        ge=1,
        description="Objects between two saved offsets, from which an interrupted listing resumes.",
    )
