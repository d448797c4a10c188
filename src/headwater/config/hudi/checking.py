"""Checks Hudi options set by the user against the known options, before Spark starts."""

import difflib
import re
from collections.abc import Callable, Iterator, Mapping

from headwater.config.hudi.known_options import KnownOption, load_known_options
from headwater.config.problems.nearest import find_nearest

_LIKENESS = 0.9
"""Similarity to a known key above which a typo is likelier than an option of the user's own class."""

_IS_OF_KIND: Mapping[str, Callable[[str], object]] = {
    "boolean": lambda value: value.lower() in ("true", "false"),
    "integer": lambda value: re.fullmatch(r"[+-]?\d+", value),
    "number": lambda value: re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", value, re.IGNORECASE),
}
_KIND_IN_WORDS = {"boolean": "true, false", "integer": "a whole number", "number": "a number"}


PREFIX = "hoodie."
SESSION_PREFIX = f"spark.{PREFIX}"


def list_session_options(config: Mapping[str, str]) -> dict[str, str]:
    """Return Spark settings that Hudi reads as its own options, by Hudi's keys."""
    start = len(SESSION_PREFIX) - len(PREFIX)
    return {key[start:]: value for key, value in config.items() if key.startswith(SESSION_PREFIX)}


def iter_option_problems(options: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield keys with a sentence for errors: a near match of a known key, or a value of a wrong kind.

    `options` are by Hudi's own keys. A key without a near match may belong to a user's own class: see
    `iter_option_warnings`.
    """
    if not options:
        return
    known = load_known_options()
    for key, value in options.items():
        option = known.by_key.get(known.renamed.get(key, key))
        if option is None:
            meant = _find_meant(key)
            if meant:
                yield (
                    key,
                    f"unknown key {key!r} in {_name_bundle(known.bundle)}. Did you mean {meant!r}?",
                )
        elif not _is_allowed(option, value.strip()):
            yield key, _say_not_allowed(option, value)


def iter_option_warnings(options: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield keys with a sentence for options that work but may be unintended: unknown or deprecated ones."""
    if not options:
        return
    known = load_known_options()
    for key in options:
        if key in known.renamed:
            yield key, f"is a deprecated name; use {known.renamed[key]}"
        elif key not in known.by_key:
            if _find_meant(key) is None:
                yield key, f"{_name_bundle(known.bundle)} has no such option; passed on unchecked"
        elif known.by_key[key].deprecated:
            option = known.by_key[key]
            instead = f"use {option.replaced_by}" if option.replaced_by else option.doc
            yield key, f"is deprecated since Hudi {option.deprecated}: {instead}"


def _find_meant(key: str) -> str | None:
    known = load_known_options()
    # The common prefix of all keys must not count as similarity.
    by_rest = {name.partition(".")[2].lower(): name for name in (*known.by_key, *known.renamed)}
    near = difflib.get_close_matches(key.partition(".")[2].lower(), by_rest, n=1, cutoff=_LIKENESS)
    return by_rest[near[0]] if near else None


def _is_allowed(option: KnownOption, value: str) -> bool:
    if option.kind == "choice":
        return value.lower() in {allowed.lower() for allowed in option.values}
    check = _IS_OF_KIND.get(option.kind)
    return check is None or bool(check(value))


def _say_not_allowed(option: KnownOption, value: str) -> str:
    text = f"{value!r} is not allowed."
    meant = find_nearest(value, option.values)
    if meant:
        text += f" Did you mean {meant!r}?"
    allowed = ", ".join(option.values) or _KIND_IN_WORDS[option.kind]
    return f"{text} Allowed: {allowed}" + (f"; Hudi's default: {option.default}" if option.default else "")


def _name_bundle(bundle: str) -> str:
    return f"Hudi {bundle.rpartition(':')[2]}"
