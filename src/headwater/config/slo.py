"""`slo:` the service level objectives of the lake, from which alerts are built."""

from pydantic import Field, model_validator

from headwater.config.section import Duration, Section, SectionError

_DAY = 86_400


class SloConfig(Section):
    """Service level objectives, from which `headwater alerts` builds alerting rules."""

    fresh: Duration = Field(
        60,
        description="Maximum time from the event of an object to the commit of its rows; one day at most; "
        "off: no alert.",
        examples=["60s"],
    )
    complete: Duration = Field(
        900,
        description="Maximum age of an event that a table has not consumed; off: no alert.",
        examples=["15m"],
    )
    target: float = Field(
        0.99,
        ge=0.95,
        le=0.9999,
        description="Share of objects that are fresh, and of time in which a table is complete. The rest is "
        "the error budget of 30 days.",
    )

    @model_validator(mode="after")
    def _check_limits(self) -> "SloConfig":
        problems = []
        if self.fresh > _DAY:
            text = f"{self.fresh:g} seconds are too long. Allowed: one day (86400) at most, or off"
            problems.append((("fresh",), text))
        elif 0 < self.complete < self.fresh:
            text = (
                f"{self.complete:g} seconds are less than `fresh` ({self.fresh:g}): an event would be "
                "overdue before it is late. Allowed: `fresh` or longer, or off"
            )
            problems.append((("complete",), text))
        if problems:
            raise SectionError(problems)
        return self
