"""Judges a bucket by its responses; makes no requests."""

from collections.abc import Mapping
from dataclasses import dataclass

from headwater.config.source import S3SourceConfig
from headwater.sources.finding import SetupFinding
from headwater.sources.s3.judging.notification import DesiredNotification, Route, judge_routes, list_paths
from headwater.sources.s3.judging.queue_policy import Sender, judge_policy

QUEUE_REGION = "source.queue.region"
VERSIONING = "source.versioning"


@dataclass(frozen=True, slots=True)
class QueueView:
    """A queue's ARN and its policy (JSON text, empty when it has none)."""

    arn: str
    policy: str = ""

    @classmethod
    def of(cls, attributes: Mapping[str, str]) -> "QueueView | None":
        """Build a view from the attributes of a queue; None if they are unavailable."""
        return cls(attributes["QueueArn"], attributes.get("Policy", "")) if "QueueArn" in attributes else None

    @property
    def partition(self) -> str:
        """Return the partition: `aws`, `aws-cn`, ..."""
        return self.arn.split(":")[1]

    @property
    def region(self) -> str:
        """Return the region of the queue."""
        return self.arn.split(":")[3]


def judge_region(
    section: str, actual: str | None, configured: str | None, used: str | None
) -> SetupFinding | None:
    """Judge whether the bucket is in the requested region; None if its region is unknown.

    `section` is the configuration's; `used` is the client's region if none is configured.
    """
    name = f"{section}.region"
    if not actual:
        return None
    if configured and configured != actual:
        detail = f"the bucket is in {actual}, but requests go to {configured}"
        return SetupFinding(name, "problem", detail, f"set {name} to {actual}")
    if not configured and used and used not in (actual, "aws-global"):
        detail = f"the bucket is in {actual}; requests go to {used} first and are redirected"
        return SetupFinding(name, "warning", detail, f"set {name} to {actual}")
    return SetupFinding(name, "ok", f"the bucket is in {actual}")


def judge_versioning(status: str) -> SetupFinding:
    """Judge which content is read for an event; `status` is `Enabled`, `Suspended` or `off`."""
    if status == "Enabled":
        return SetupFinding(VERSIONING, "ok", "enabled: the exact version of each event is read")
    detail = f"{status.lower()}: if an object is overwritten before it is read, its new content is read"
    return SetupFinding(VERSIONING, "ok", detail)


def judge_cleaning(source: S3SourceConfig, *, is_versioned: bool) -> SetupFinding:
    """Judge what `clean_source` will do here, and whether that is reversible."""
    name, days = "source.clean_source", source.clean_source_delay / 86_400
    when = f"{days:g} days after all of its tables contain it"
    if source.clean_source == "delete":
        if is_versioned:
            return SetupFinding(name, "ok", f"an object is deleted {when}; its versions are kept")
        fix = "enable versioning for the bucket, or set clean_source to move or tag"
        detail = f"an object is deleted permanently {when}: the bucket keeps no versions"
        return SetupFinding(name, "warning", detail, fix)
    done = "tagged" if source.clean_source == "tag" else f"moved to {source.clean_source_move_to}"
    return SetupFinding(name, "ok", f"an object is {done} {when}")


def judge_way(
    routes: tuple[Route, ...], queue: QueueView, wanted: DesiredNotification, bucket_region: str | None
) -> list[SetupFinding]:
    """Judge whether the bucket's events reach the queue, and whether its policy allows them."""
    paths = list_paths(routes, queue.arn)
    is_indirect = any(route.kind != "queue" for route in paths)
    findings = judge_routes(routes, wanted)
    if bucket_region and bucket_region != queue.region and not is_indirect:
        detail = (
            f"the bucket is in {bucket_region}, the queue in {queue.region}: S3 cannot notify across regions"
        )
        fix = f"create the queue in {bucket_region}, or use EventBridge"
        findings.append(SetupFinding(QUEUE_REGION, "problem", detail, fix))
    sender = _find_sender(paths, f"arn:{queue.partition}:s3:::{wanted.bucket}")
    return [*findings, judge_policy(queue.policy, queue.arn, sender)]


def _find_sender(paths: list[Route], bucket_arn: str) -> Sender:
    kinds = {route.kind for route in paths}
    if "topic" in kinds:
        return Sender("sns.amazonaws.com", next(route.target for route in paths if route.kind == "topic"))
    if "eventbridge" in kinds:
        return Sender("events.amazonaws.com")
    return Sender("s3.amazonaws.com", bucket_arn)
