"""Reads and builds rules of a bucket's notification configuration, and detects overlaps. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote_plus, unquote_plus

from headwater.sources.s3.judging.notification import CREATED, EXPIRED, REMOVED, Route, RouteKind

RESTORED = frozenset({"s3:ObjectRestore:Completed"})
MAX_RULES = 100

Rule = Mapping[str, object]
Configuration = Mapping[str, object]

# The S3 field for the rules of a kind, and the name of their target.
CONFIGURATION_KEYS: Mapping[RouteKind, tuple[str, str]] = {
    "queue": ("QueueConfigurations", "QueueArn"),
    "topic": ("TopicConfigurations", "TopicArn"),
    "function": ("LambdaFunctionConfigurations", "LambdaFunctionArn"),
}
EVENTBRIDGE = "EventBridgeConfiguration"

_FAMILIES = {
    "s3:ObjectCreated:*": CREATED,
    "s3:ObjectRemoved:*": REMOVED,
    "s3:LifecycleExpiration:*": EXPIRED,
}
_WANTED = (*_FAMILIES.items(), ("s3:ObjectRestore:Completed", RESTORED))
WANTED_KINDS = frozenset(kind for _, kinds in _WANTED for kind in kinds)


@dataclass(frozen=True, slots=True)
class NamedRoute:
    """A rule's id and route."""

    id: str
    route: Route


def list_routes(configuration: Configuration) -> list[NamedRoute]:
    """List all rules, and EventBridge if it is enabled."""
    found = [
        NamedRoute(str(rule.get("Id", "")), _parse_route(kind, rule))
        for kind, (name, _) in CONFIGURATION_KEYS.items()
        for rule in list_rules(configuration, name)
    ]
    return [*found, NamedRoute("", Route("eventbridge"))] if EVENTBRIDGE in configuration else found


def list_rules(configuration: Configuration, name: str) -> Sequence[Rule]:
    """List the rules in one of the lists, in S3's format."""
    found = configuration.get(name, ())
    return [rule for rule in found if isinstance(rule, Mapping)] if isinstance(found, Sequence) else []


def build_rule(rule_id: str, route: Route) -> Rule:
    """Build a rule in S3's format."""
    rule: dict[str, object] = {
        "Id": rule_id,
        CONFIGURATION_KEYS[route.kind][1]: route.target,
        "Events": sorted(route.events),
    }
    filters = [("prefix", route.prefix), ("suffix", route.suffix)]
    written = [{"Name": name, "Value": quote_plus(value, safe="/")} for name, value in filters if value]
    if written:
        rule["Filter"] = {"Key": {"FilterRules": written}}
    return rule


def is_same(one: Configuration, other: Configuration) -> bool:
    """True if two configurations are equal regardless of order."""
    return _normalize(one) == _normalize(other)


def expand(events: Iterable[str]) -> frozenset[str]:
    """Expand event families (`s3:ObjectCreated:*`) to their members if known."""
    return frozenset(kind for event in events for kind in _FAMILIES.get(event, {event}))


def fold_kinds(kinds: frozenset[str]) -> frozenset[str]:
    """Replace complete sets of members by their family; reverses `expand`."""
    whole = frozenset(name for name, members in _WANTED if members <= kinds)
    covered = expand(whole)
    return whole | (kinds - covered)


def overlap(one: Route, other: Route) -> frozenset[str]:
    """Return events of keys that both rules match, which S3 does not allow."""
    prefixes = one.prefix.startswith(other.prefix) or other.prefix.startswith(one.prefix)
    suffixes = one.suffix.endswith(other.suffix) or other.suffix.endswith(one.suffix)
    if not (prefixes and suffixes) or "eventbridge" in (one.kind, other.kind):
        return frozenset()
    return _share(one.events, other.events)


def describe_route(route: Route) -> str:
    """Return `s3:ObjectCreated:* of keys that start with 'in/' to ARN`."""
    filters = [f"start with {route.prefix!r}"] if route.prefix else []
    filters += [f"end with {route.suffix!r}"] if route.suffix else []
    keys = f" of keys that {' and '.join(filters)}" if filters else ""
    return f"{', '.join(sorted(route.events))}{keys} to {route.target}"


def _share(one: frozenset[str], other: frozenset[str]) -> frozenset[str]:
    def covers(events: frozenset[str], event: str) -> bool:
        return event in events or f"{event.rsplit(':', 1)[0]}:*" in events

    return frozenset(
        [event for event in expand(one) if covers(expand(other) | other, event)]
        + [event for event in expand(other) if covers(expand(one) | one, event)]
    )


def _normalize(configuration: Configuration) -> tuple[bool, frozenset[tuple[str, Route]]]:
    named = list_routes(configuration)
    rules = frozenset((item.id, item.route) for item in named if item.route.kind != "eventbridge")
    return EVENTBRIDGE in configuration, rules


def _parse_route(kind: RouteKind, rule: Rule) -> Route:
    events = rule.get("Events")
    values = dict(_iter_filters(rule.get("Filter")))
    return Route(
        kind,
        str(rule.get(CONFIGURATION_KEYS[kind][1], "")),
        frozenset(str(event) for event in events) if isinstance(events, Sequence) else frozenset(),
        values.get("prefix", ""),
        values.get("suffix", ""),
    )


def _iter_filters(found: object) -> Iterator[tuple[str, str]]:
    """Yield prefix and suffix; S3 stores them form-encoded, with their names in either case."""
    key = found.get("Key") if isinstance(found, Mapping) else None
    rules = key.get("FilterRules") if isinstance(key, Mapping) else None
    for rule in rules if isinstance(rules, Sequence) else ():
        if isinstance(rule, Mapping):
            yield str(rule.get("Name", "")).lower(), unquote_plus(str(rule.get("Value", "")))
