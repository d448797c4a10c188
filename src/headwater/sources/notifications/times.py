"""Converts event times, RFC 3339 or similar text or epoch seconds, to an aware UTC datetime."""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from decimal import Decimal

from headwater.sources.notifications.fields import quote, read_text
from headwater.sources.notifications.outcome import UnusableRecordError

# Own pattern: on Python 3.10, datetime.fromisoformat supports neither Z nor seven decimals; newer
# versions also accept weeks and ordinals.
_TIME = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,30}))?(?:[Zz]|([+-])(\d\d):?(\d\d))?",
    re.ASCII,
)
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
# Whole years that 64 bits of nanoseconds hold: a reader of the events table would fail on others.
_FIRST, _LAST = 1970, 2261
_MAX_EPOCH_SECONDS = 10**11


def read_time(parent: Mapping[str, object], name: str) -> datetime:
    """Return the time under `name` in UTC, truncated to microseconds; without a zone it is UTC.

    Raises:
        UnusableRecordError: `missing_field` if it is absent or not a usable time.
    """
    text = read_text(parent, name)
    match = _TIME.fullmatch(text)
    if match is None:
        raise _unusable(name, text)
    year, month, day, hour, minute, second, fraction, sign, zone_hours, zone_minutes = match.groups()
    try:
        time = datetime(
            int(year), int(month), int(day), int(hour), int(minute), int(second),
            int(fraction[:6].ljust(6, "0")) if fraction else 0, timezone.utc,
        )  # fmt: skip
        if sign:
            offset = timedelta(hours=int(zone_hours), minutes=int(zone_minutes))
            time = time - offset if sign == "+" else time + offset
    except (ValueError, OverflowError):
        raise _unusable(name, text) from None
    return _ensure_plausible(time, name, text)


def read_time_or_epoch(parent: Mapping[str, object], name: str) -> datetime:
    """Return the time as `read_time` does; a number counts as seconds since 1970."""
    value = parent.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return read_time(parent, name)
    if not -_MAX_EPOCH_SECONDS < value < _MAX_EPOCH_SECONDS:
        raise _unusable(name, "that number")
    # Via the digits: float arithmetic would round the last microsecond.
    microseconds = int(Decimal(str(value)) * 1_000_000)
    return _ensure_plausible(_EPOCH + timedelta(microseconds=microseconds), name, str(value))


def _ensure_plausible(time: datetime, name: str, text: str) -> datetime:
    if not _FIRST <= time.year <= _LAST:
        raise _unusable(name, text)
    return time


def _unusable(name: str, text: str) -> UnusableRecordError:
    return UnusableRecordError(
        "missing_field", f"{name} is not a time between {_FIRST} and {_LAST}: {quote(text)}"
    )
