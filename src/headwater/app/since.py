"""Points in time as a user types them."""

import re
from datetime import datetime, timedelta, timezone

from headwater.config.section import parse_time
from headwater.errors import UsageError

_AGE = re.compile(r"(?P<count>\d{1,6})\s*(?P<unit>[smhdw])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def parse_since(text: str, now: datetime, name: str = "--since", words: str = "") -> datetime:
    """Parse a time (UTC without a zone) or an age before `now`.

    Raises `UsageError`, which names the option and `words` that are also allowed.
    """
    try:
        if age := _AGE.fullmatch(text.strip()):
            return now - timedelta(**{_UNITS[age["unit"]]: int(age["count"])})
        return parse_time(text)
    except (ValueError, OverflowError) as error:
        raise UsageError(
            f"{name} {text} is neither a time nor an age",
            hint=f"write {words}a time (2026-01-31, 2026-01-31T12:00Z) or an age (90m, 24h, 7d)",
        ) from error


def spell_point(text: str) -> str:
    """Return a point on a table's timeline: an age becomes a time, all other texts stay unchanged for
    `Query`. Raises `UsageError`."""
    from headwater.lake.queries.instants import is_point

    return text if is_point(text) else parse_since(text, datetime.now(timezone.utc)).isoformat()
