"""The keys of the API, from the environment."""

import hashlib
import hmac
import re
from collections.abc import Sequence
from dataclasses import dataclass

from headwater.errors import ConfigError

API_KEYS_VARIABLE = "HEADWATER_API_KEYS"
API_KEY_VARIABLE = "HEADWATER_API_KEY"
"""The key with which headwater itself asks a server."""
_FORM = "write name:sha256-hex[:tenant[:scope]], comma-separated; hash a key with `printf %s KEY | sha256sum`"
_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")
_HASH = re.compile(r"[0-9a-fA-F]{64}")
SCOPES = frozenset({"admin"})


@dataclass(frozen=True, slots=True)
class ApiKey:
    """One key, stored as its hash. `tenant` limits it to rows of that tenant."""

    name: str
    sha256: str
    tenant: str | None = None
    is_admin: bool = False


def parse_api_keys(text: str, *, needs_tenant: bool = False) -> tuple[ApiKey, ...]:
    """Parse the keys in the variable's text. Raises `ConfigError`, which never contains the text itself.

    With `needs_tenant` at least one key is required, and each must name a tenant: no caller may see rows of
    all tenants.
    """
    problems: list[str] = []
    keys: list[ApiKey] = []
    for number, entry in enumerate(filter(None, map(str.strip, text.split(","))), 1):
        found = _parse_entry(entry)
        if isinstance(found, str):
            problems.append(f"environment variable {API_KEYS_VARIABLE}: entry {number}: {found}")
        else:
            keys.append(found)
    names = [key.name for key in keys]
    problems += [
        f"environment variable {API_KEYS_VARIABLE}: two keys are named {name!r}"
        for name in sorted({name for name in names if names.count(name) > 1})
    ]
    if needs_tenant and (not keys or any(key.tenant is None for key in keys)):
        bare = ", ".join(key.name for key in keys if key.tenant is None)
        what = f"without a tenant: {bare}" if bare else "no key is set"
        problems.append(
            f"environment variable {API_KEYS_VARIABLE}: `search.tenant` is set, so each key must name a "
            f"tenant; {what}"
        )
    if problems:
        raise ConfigError("\n".join(problems), hint=_FORM)
    return tuple(keys)


def find_key(keys: Sequence[ApiKey], given: str) -> ApiKey | None:
    """Return the key with that hash. Takes constant time, also for a wrong key."""
    digest = hashlib.sha256(given.encode("utf-8", "surrogatepass")).hexdigest()
    found = None
    for key in keys:
        if hmac.compare_digest(key.sha256, digest):
            found = key
    return found


def _parse_entry(entry: str) -> ApiKey | str:
    name, *rest = entry.split(":")
    if not _NAME.fullmatch(name):
        return "the name must have 1 to 64 letters, digits, dots or dashes"
    if not 1 <= len(rest) <= 3 or not _HASH.fullmatch(rest[0]):
        return f"{name}: the SHA-256 in hex after the name is missing or invalid"
    tenant, scope = ([*rest[1:], "", ""])[:2]
    if scope and scope not in SCOPES:
        return f"{name}: unknown scope {scope!r}. Allowed: {', '.join(sorted(SCOPES))}"
    return ApiKey(name, rest[0].lower(), tenant or None, scope == "admin")
