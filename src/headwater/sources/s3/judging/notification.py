"""Judges by a notification configuration whether every event of a bucket reaches the queue; no requests."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from headwater.sources.finding import SetupFinding

NAME = "source.notification"

CREATED = frozenset(f"s3:ObjectCreated:{kind}" for kind in ("Put", "Post", "Copy", "CompleteMultipartUpload"))
REMOVED = frozenset(f"s3:ObjectRemoved:{kind}" for kind in ("Delete", "DeleteMarkerCreated"))
EXPIRED = frozenset(f"s3:LifecycleExpiration:{kind}" for kind in ("Delete", "DeleteMarkerCreated"))
WANTED_EVENTS = (
    "s3:ObjectCreated:*",
    "s3:ObjectRemoved:*",
    "s3:LifecycleExpiration:*",
    "s3:ObjectRestore:Completed",
)

RouteKind = Literal["queue", "topic", "function", "eventbridge"]


@dataclass(frozen=True, slots=True)
class Route:
    """One destination of a bucket's events. `target` is its ARN; EventBridge has none and receives all."""

    kind: RouteKind
    target: str = ""
    events: frozenset[str] = frozenset()
    prefix: str = ""
    suffix: str = ""

    def carries(self, event: str) -> bool:
        """True if the route carries the event, such as `s3:ObjectCreated:Put`."""
        family = f"{event.rsplit(':', 1)[0]}:*"
        return self.kind == "eventbridge" or event in self.events or family in self.events

    def meets(self, key_prefix: str) -> bool:
        """True if the route carries events of any key under `key_prefix`."""
        return self.prefix.startswith(key_prefix) or key_prefix.startswith(self.prefix)

    def covers(self, key_prefix: str) -> bool:
        """True if the route carries events of every key under `key_prefix`."""
        return key_prefix.startswith(self.prefix) and not self.suffix


@dataclass(frozen=True, slots=True)
class DesiredNotification:
    """The source's requirement: events of keys under `prefix` at `queue_arn`."""

    bucket: str
    queue_arn: str
    prefix: str = ""
    needs_removals: bool = False


def list_paths(routes: Iterable[Route], queue_arn: str) -> list[Route]:
    """List the routes that reach the queue directly; if there is none, those that may reach it."""
    routes = list(routes)
    direct = [route for route in routes if route.kind == "queue" and route.target == queue_arn]
    return direct or [route for route in routes if route.kind in ("topic", "eventbridge")]


def judge_routes(routes: Sequence[Route], wanted: DesiredNotification) -> list[SetupFinding]:
    """Return a finding for each way in which events can be missed, or one that is ok."""
    paths = list_paths(routes, wanted.queue_arn)
    if not paths:
        return [_judge_no_path(routes, wanted)]
    findings = [*_judge_indirect(paths), *_judge_events(paths, wanted), *_judge_filters(paths, wanted)]
    if findings:
        return findings
    return [SetupFinding(NAME, "ok", "creations, removals and expirations go directly to the queue")]


def _judge_no_path(routes: Sequence[Route], wanted: DesiredNotification) -> SetupFinding:
    others = ", ".join(sorted({route.target for route in routes}))
    detail = f"bucket {wanted.bucket} does not notify the queue"
    return SetupFinding(
        NAME,
        "problem",
        f"{detail}: its notifications go to {others}" if others else f"{detail}: it has no notifications",
        f"`headwater up` adds a notification of {', '.join(WANTED_EVENTS)} to {wanted.queue_arn}, and keeps "
        "existing ones; manually: S3 console, Properties, Event notifications",
    )


def _judge_indirect(paths: Sequence[Route]) -> Iterator[SetupFinding]:
    for topic in sorted({route.target for route in paths if route.kind == "topic"}):
        yield SetupFinding(
            NAME,
            "warning",
            f"events go to topic {topic}; the bucket does not show whether it forwards them to the queue",
            "`headwater plan` checks it if `headwater up` created it; otherwise, find the queue in: "
            f"aws sns list-subscriptions-by-topic --topic-arn {topic}",
        )
    if any(route.kind == "eventbridge" for route in paths):
        yield SetupFinding(
            NAME,
            "warning",
            "events go to EventBridge; the bucket does not show whether a rule forwards them to the queue",
            "`headwater plan` checks it if `headwater up` created it; otherwise, find the queue in: "
            "aws events list-rule-names-by-target --target-arn QUEUE_ARN",
        )


def _judge_events(paths: Sequence[Route], wanted: DesiredNotification) -> Iterator[SetupFinding]:
    families: tuple[tuple[str, frozenset[str], str, bool], ...] = (
        ("created", CREATED, "objects created this way are not ingested", True),
        ("removed", REMOVED, "rows of removed objects remain", wanted.needs_removals),
        ("expired", EXPIRED, "rows of objects that a lifecycle rule removes remain", False),
    )
    for label, events, meaning, is_needed in families:
        missing = sorted(event for event in events if not any(route.carries(event) for route in paths))
        if missing:
            family = f"{missing[0].rsplit(':', 1)[0]}:*"
            names = family if len(missing) == len(events) else ", ".join(missing)
            yield SetupFinding(
                f"{NAME}.{label}",
                "problem" if is_needed else "warning",
                f"the queue is not notified of {names}: {meaning}",
                f"add {family} to the notification",
            )


def _judge_filters(paths: Sequence[Route], wanted: DesiredNotification) -> Iterator[SetupFinding]:
    creating = [route for route in paths if any(route.carries(event) for event in CREATED)]
    if not creating or any(route.covers(wanted.prefix) for route in creating):
        return
    meeting = [route for route in creating if route.meets(wanted.prefix)]
    filters = " or ".join(_describe_filter(route) for route in creating)
    under = f"under {wanted.prefix!r}" if wanted.prefix else "of the bucket"
    yield SetupFinding(
        f"{NAME}.filter",
        "warning" if meeting else "problem",
        f"notifications cover only keys that {filters}, "
        + (f"not other keys {under}" if meeting else f"and no key {under}"),
        "widen the notification's filter, unless it excludes only keys that no table reads",
    )


def _describe_filter(route: Route) -> str:
    parts = [f"start with {route.prefix!r}"] if route.prefix else []
    return " and ".join([*parts, f"end with {route.suffix!r}"] if route.suffix else parts)
