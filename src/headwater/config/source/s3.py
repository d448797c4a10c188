"""`source: {type: s3}`: a bucket, its queue, and the resources between them."""

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field, field_validator, model_validator

from headwater.config.addresses import check_bucket_name
from headwater.config.section import Duration, Section, SectionError, TextMap
from headwater.config.source.cleaning import (
    CLEAN_DELAY,
    CLEAN_SOURCE,
    format_target,
    is_inside,
    iter_clean_problems,
    read_off,
)
from headwater.config.source.section import SourceSection

_MAX_TAGS = 10


def _check_queue_url(url: str) -> str:
    if url.rstrip("/").endswith(".fifo"):
        raise ValueError("S3 cannot send notifications to a FIFO queue; use a standard queue")
    return url


QueueUrl = Annotated[str, Field(pattern=r"^https?://\S+$"), AfterValidator(_check_queue_url)]


class QueueConfig(Section):
    """The queue that receives the bucket's notifications."""

    # Long polling asks all servers of a queue.
    empty_poll_seconds: ClassVar[float] = 1.0

    url: QueueUrl | None = Field(
        None,
        description="URL of an existing queue. Default: the queue that `headwater up` creates, by its name.",
        examples=["https://sqs.eu-central-1.amazonaws.com/123456789012/landing"],
    )
    region: str | None = Field(None, description="Region. Default: the source's.")
    endpoint: str | None = Field(
        None, description="Endpoint of an SQS-compatible service. Default: the URL's, else the source's."
    )
    long_poll_wait: int = Field(
        20, ge=0, le=20, description="Wait time of a receive call (long polling), in seconds."
    )
    visibility_timeout: int = Field(
        30,
        ge=0,
        le=43200,
        description="Visibility timeout of received messages, in seconds. A heartbeat extends it fourfold.",
    )
    max_messages_per_batch: int = Field(
        20_000, ge=1, le=100_000, description="Number of messages that closes a batch."
    )
    max_messages_per_request: int = Field(10, ge=1, le=10, description="Messages per receive call.")
    receivers: int = Field(8, ge=1, le=64, description="Maximum number of concurrent receive calls.")
    max_in_flight: int = Field(
        60_000,
        ge=10,
        le=119_000,
        description="In-flight messages at which receiving pauses (SQS allows about 120,000).",
    )


class ResourcesConfig(Section):
    """Resources that `headwater up` creates for the source."""

    name: str | None = Field(
        None,
        pattern=r"^[A-Za-z0-9_-]{1,75}$",
        description="Name of queue, topic and rule. Default: derived from bucket and prefix.",
        examples=["landing-events"],
    )
    max_receive_count: int = Field(
        10, ge=3, le=1000, description="Receives after which a message goes to the dead-letter queue."
    )
    kms_key: str | None = Field(
        None,
        min_length=1,
        description="KMS key (ARN, id or alias) of queue and topic. Default: encryption managed by SQS.",
        examples=["alias/landing"],
    )
    bucket_owner: str | None = Field(
        None,
        pattern=r"^\d{12}$",
        description="Account that owns the bucket. Default: that of the credentials.",
        examples=["123456789012"],
    )
    tags: TextMap = Field(
        {}, description="Additional tags of the created resources.", examples=[{"team": "data"}]
    )

    @field_validator("tags")
    @classmethod
    def _check_tags(cls, tags: dict[str, str]) -> dict[str, str]:
        own = [name for name in tags if name.lower().startswith(("headwater:", "aws:"))]
        if own:
            raise ValueError(f"the tag {own[0]!r} has a prefix reserved for headwater; choose another name")
        return tags


class S3SourceConfig(SourceSection):
    """Objects in S3 or an S3-compatible store, with notifications in a queue."""

    # Whether a watcher in the run's own process announces changes, instead of the store.
    is_watched: ClassVar[bool] = False
    is_listed: ClassVar[bool] = True
    # Whether a listing can begin after any key, and yields its first object at once.
    lists_ranges: ClassVar[bool] = True
    queue_keys: ClassVar[frozenset[str]] = frozenset({"notifications", "queue", "resources"})
    location_key: ClassVar[str] = "bucket"

    type: Literal["s3"] = Field(description="An S3 bucket.")
    bucket: Annotated[str, AfterValidator(check_bucket_name)] = Field(
        min_length=1, description="Bucket name.", examples=["acme-landing"]
    )
    moved_from: str | None = Field(
        None,
        min_length=1,
        description="Previous bucket of the objects, if they were moved to `bucket`. They keep their "
        "identity and are not ingested again.",
        examples=["acme-landing-old"],
    )
    prefix: str = Field("", description="Ingest only keys with this prefix.")
    region: str | None = Field(None, description="Region of the bucket. Default: AWS's default chain.")
    profile: str | None = Field(
        None,
        min_length=1,
        description="Profile of the AWS configuration files, for the credentials of bucket and queue. "
        "Default: AWS's default chain.",
        examples=["acme-eu"],
    )
    role_arn: str | None = Field(
        None,
        pattern=r"^arn:[a-z-]+:iam::\d{12}:role/\S+$",
        description="Role to assume for bucket and queue, such as one of the bucket's account. With "
        "`profile` or `role_arn`, large objects are read whole, not in splits.",
        examples=["arn:aws:iam::123456789012:role/headwater"],
    )
    external_id: str | None = Field(
        None,
        min_length=2,
        description="External id that the role's trust policy requires.",
        examples=["acme-landing"],
    )
    endpoint: str | None = Field(None, description="Endpoint of an S3-compatible store.")
    file_system_scheme: Literal["s3", "s3a"] = Field(
        "s3a", description="URL scheme with which Spark reads large objects."
    )
    notifications: Literal["sqs", "sns", "eventbridge"] = Field(
        "sqs", description="Route of notifications from bucket to queue that `headwater up` creates."
    )
    queue: QueueConfig = Field(QueueConfig(), description="Queue that receives the bucket's notifications.")
    resources: ResourcesConfig = Field(
        ResourcesConfig(), description="Resources that `headwater up` creates."
    )
    clean_source: Annotated[
        Literal["off", "tag", "move", "delete"],
        BeforeValidator(read_off, json_schema_input_type=Literal["off", "tag", "move", "delete"]),
    ] = Field("off", description=CLEAN_SOURCE)
    clean_source_delay: Duration = Field(2_592_000, description=CLEAN_DELAY, examples=["7d"])
    clean_source_move_to: str | None = Field(
        None,
        pattern=r"^s3://[^/\s]+(/.*)?$",
        description="Target location of `clean_source: move`; the whole key is appended.",
        examples=["s3://acme-archive/landing/"],
    )
    clean_source_tags: TextMap = Field(
        {"headwater": "ingested"}, description="Tags that `clean_source: tag` adds to the object's tags."
    )

    @property
    def location(self) -> str:
        """Return the bucket in which the objects are now."""
        return self.bucket

    @property
    def known_location(self) -> str:
        """Return the bucket's name in the lake: moved objects keep their original one."""
        return self.moved_from or self.bucket

    @property
    def address(self) -> str:
        """Return the URL of the source, by its name in the lake."""
        return f"s3://{self.known_location}/{self.prefix}"

    @property
    def notified_by(self) -> dict[str, str]:
        """Return the route of notifications, and the queue's URL if it is configured."""
        return {"notifications": self.notifications} | ({"queue": self.queue.url} if self.queue.url else {})

    @property
    def shared_queue(self) -> str:
        """Return what names the queue, so that sources can share it; empty for a queue of its own."""
        return self.queue.url or ""

    @property
    def clean_source_target(self) -> str:
        """Return the target of moved objects, as `bucket/prefix/`; empty without a target."""
        return format_target(self.clean_source_move_to, "s3")

    @model_validator(mode="after")
    def _check_clean_source(self) -> "S3SourceConfig":
        inside = is_inside(self.clean_source_target, self.bucket, self.prefix)
        problems = list(
            iter_clean_problems(self.clean_source, self.clean_source_delay, self.clean_source_move_to, inside)
        )
        tags = self.clean_source_tags
        if self.external_id and not self.role_arn:
            problems.append((("external_id",), "applies only with `role_arn`; set it, or remove this"))
        if not 0 < len(tags) <= _MAX_TAGS or any(
            not 0 < len(name) <= 128 or len(value) > 256 or name.lower().startswith("aws:")
            for name, value in tags.items()
        ):
            text = (
                "invalid tags. Allowed: one to ten tags, names of 1 to 128 characters, values of at most "
                "256, no `aws:` prefix"
            )
            problems.append((("clean_source_tags",), text))
        if problems:
            raise SectionError(problems)
        return self
