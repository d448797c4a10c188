"""`source:` where objects land, and how headwater hears of them."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, ByteSize, Field, ValidationInfo, field_validator

from headwater.config.section import ByteCount, Section, TextMap


def resolve_path(path: Path, info: ValidationInfo) -> Path:
    """Expand `~`; resolve a relative path against the folder of the file it was read from."""
    folder = info.context.get("folder") if isinstance(info.context, dict) else None
    path = path.expanduser()
    return Path(folder, path).absolute() if isinstance(folder, Path) else path


def _check_queue_url(url: str) -> str:
    if url.rstrip("/").endswith(".fifo"):
        raise ValueError("S3 cannot send notifications to a FIFO queue; use a standard queue")
    return url


QueueUrl = Annotated[str, Field(pattern=r"^https?://\S+$"), AfterValidator(_check_queue_url)]


class QueueConfig(Section):
    """The queue that receives the bucket's notifications."""

    url: QueueUrl | None = Field(
        None,
        description="URL of a queue that exists; default: the one that `headwater up` makes, by its name.",
        examples=["https://sqs.eu-central-1.amazonaws.com/123456789012/landing"],
    )
    region: str | None = Field(None, description="Region; default: the source's.")
    endpoint: str | None = Field(
        None, description="Endpoint of an SQS-compatible service; default: the URL's, else the source's."
    )
    long_poll_wait: int = Field(20, ge=0, le=20, description="Seconds one receive call waits.")
    visibility_timeout: int = Field(
        30, ge=0, le=43200, description="Seconds a received message stays hidden; a heartbeat extends it."
    )
    max_messages_per_batch: int = Field(10_000, ge=1, le=100_000, description="Messages that close a batch.")
    max_messages_per_request: int = Field(10, ge=1, le=10, description="Messages per receive call.")
    receivers: int = Field(8, ge=1, le=64, description="Most receive calls at the same time.")
    max_in_flight: int = Field(
        60_000,
        ge=10,
        le=119_000,
        description="Stop receiving at this many undeleted messages (SQS stops at about 120,000).",
    )


class ResourcesConfig(Section):
    """What `headwater up` makes for the source."""

    name: str | None = Field(
        None,
        pattern=r"^[A-Za-z0-9_-]{1,75}$",
        description="Name of queue, topic and rule; default: made of bucket and prefix.",
        examples=["landing-events"],
    )
    max_receive_count: int = Field(
        10, ge=3, le=1000, description="Receives after which a message goes to the dead-letter queue."
    )
    kms_key: str | None = Field(
        None,
        min_length=1,
        description="KMS key (ARN, id or alias) of queue and topic; default: SQS's own encryption.",
        examples=["alias/landing"],
    )
    bucket_owner: str | None = Field(
        None,
        pattern=r"^\d{12}$",
        description="Account that owns the bucket; default: the one of the credentials.",
        examples=["123456789012"],
    )
    tags: TextMap = Field({}, description="Further tags of what is made.", examples=[{"team": "data"}])

    @field_validator("tags")
    @classmethod
    def _check_tags(cls, tags: dict[str, str]) -> dict[str, str]:
        own = [name for name in tags if name.lower().startswith(("headwater:", "aws:"))]
        if own:
            raise ValueError(f"the tag {own[0]!r} is not yours to set: choose a name without that prefix")
        return tags


class S3SourceConfig(Section):
    """Objects in S3 or an S3-compatible store, heard of through a queue."""

    type: Literal["s3"] = Field(description="A bucket.")
    bucket: str = Field(min_length=1, description="Bucket name.", examples=["acme-landing"])
    prefix: str = Field("", description="Only keys that start with this.")
    region: str | None = Field(None, description="Region of the bucket; default: AWS's own chain.")
    endpoint: str | None = Field(None, description="Endpoint of an S3-compatible store.")
    file_system_scheme: Literal["s3", "s3a"] = Field(
        "s3a", description="Scheme under which Spark reads large objects."
    )
    notifications: Literal["sqs", "sns", "eventbridge"] = Field(
        "sqs", description="The way that `headwater up` makes from the bucket to the queue."
    )
    queue: QueueConfig = Field(QueueConfig(), description="Where the bucket's notifications arrive.")
    resources: ResourcesConfig = Field(ResourcesConfig(), description="What `headwater up` makes.")


class LocalSourceConfig(Section):
    """Files in a folder, existing and changing."""

    type: Literal["local"] = Field(description="A folder on this machine.")
    path: Annotated[Path, AfterValidator(resolve_path)] = Field(
        description="The folder to watch; relative to the configuration file.", examples=["landing"]
    )
    settle_seconds: float = Field(
        1.0, ge=0, le=3600, description="A file is read when it has not changed for this long."
    )


SourceConfig = Annotated[S3SourceConfig | LocalSourceConfig, Field(discriminator="type")]


class CaptureConfig(Section):
    """When a batch of notifications becomes one commit of the events table."""

    batch_seconds: float = Field(
        0.5, ge=0, le=900, description="Age of the oldest message that closes a batch."
    )
    batch_bytes: ByteCount = Field(
        ByteSize(64 * 1024 * 1024), description="Bytes of message bodies that close a batch."
    )
    min_sync_interval: float = Field(
        0, ge=0, le=86_400, description="Seconds between the starts of two commits, at least."
    )
