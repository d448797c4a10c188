"""`reconcile:` how often the bucket's listing is compared with the events, and how gently."""

from pydantic import Field

from headwater.config.section import Duration, Section


class ReconcileConfig(Section):
    """When the bucket is listed to find what no notification told of, beside the live flow."""

    include_existing_files: bool = Field(
        True,
        description="List the bucket at the start of every run, objects from before the first run included; "
        "false: those stay out.",
    )
    backfill_interval: Duration = Field(
        86_400, description="From one listing to the next: seconds or `12 hours`, `1 day`; 0 or off: never."
    )
    settle_seconds: float = Field(
        60,
        ge=0,
        le=86_400,
        description="Objects younger than this are left to their notifications until the next listing.",
    )
    max_requests_per_second: float = Field(
        20, ge=0.1, le=3_500, description="Listing requests (of 1,000 objects each) a second, at most."
    )
    checkpoint_objects: int = Field(
        100_000, ge=1, description="Objects after which a listing that is cut short need not go back further."
    )
