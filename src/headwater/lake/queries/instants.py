"""Converts instants between user input and Hudi's form. Pure."""

import re
from datetime import datetime, timezone

from headwater.errors import UsageError

EARLIEST = "earliest"
"""Before the first commit."""
_INSTANT = re.compile(r"\d{14}(\d{3})?")
_TIME = re.compile(r"\d{4}-\d{2}-\d{2}([T ].*)?")
_HINT = (
    "use an instant (20260131120000000 or 20260131120000), a time (2026-01-31T12:00:00Z; UTC without a zone) "
    "or a date (2026-01-31: its start)"
)


def parse_instant(text: str, *, end_of_second: bool) -> str:
    """Convert an instant of 14 or 17 digits, an ISO time or a date to Hudi's 17 digits in UTC.

    14 digits are a second: with `end_of_second` its last millisecond, as in Hudi, else its first. Raises
    `UsageError`.
    """
    asked = text.strip()
    try:
        if _INSTANT.fullmatch(asked):
            full = asked if len(asked) == 17 else asked + ("999" if end_of_second else "000")
            parse_time(full)
            return full
        if _TIME.fullmatch(asked):
            # Python 3.10 does not parse `Z`.
            time = datetime.fromisoformat(re.sub(r"[zZ]$", "+00:00", asked))
            return format_instant(time if time.tzinfo else time.replace(tzinfo=timezone.utc))
    except (ValueError, OverflowError) as error:
        raise UsageError(f"{text!r} is not a point in time", hint=_HINT) from error
    raise UsageError(f"{text!r} is not a point in time", hint=_HINT)


def is_instant(text: str) -> bool:
    """True if the text is in Hudi's digits, which are independent of time zones."""
    return _INSTANT.fullmatch(text.strip()) is not None


def is_point(text: str) -> bool:
    """True if the text looks like an instant, a time or a date, so that `parse_since` applies."""
    asked = text.strip()
    return asked == EARLIEST or bool(_INSTANT.fullmatch(asked) or _TIME.fullmatch(asked))


def parse_since(text: str) -> str:
    """Like `parse_instant`; `earliest` is the empty instant, before all others. Raises `UsageError`."""
    return "" if text.strip() == EARLIEST else parse_instant(text, end_of_second=False)


def format_instant(time: datetime) -> str:
    """Format an aware time as 17 digits, truncated to milliseconds."""
    utc = time.astimezone(timezone.utc)
    return f"{utc:%Y%m%d%H%M%S}{utc.microsecond // 1000:03d}"


def parse_time(instant: str) -> datetime:
    """Parse an instant of 17 digits. Raises `ValueError`."""
    return datetime.strptime(f"{instant}000", "%Y%m%d%H%M%S%f").replace(tzinfo=timezone.utc)


def describe_instant(instant: str) -> str:
    """Return `20260131120000000 (2026-01-31T12:00:00.000Z)`."""
    time = parse_time(instant.ljust(17, "0"))
    return f"{instant} ({time:%Y-%m-%dT%H:%M:%S}.{time.microsecond // 1000:03d}Z)"
