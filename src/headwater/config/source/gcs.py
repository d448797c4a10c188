"""`source: {type: gcs}`: a bucket in Google Cloud Storage, and the subscription to its notifications."""

import re
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, field_validator, model_validator

from headwater.config.addresses import check_bucket_name
from headwater.config.section import Duration, Section, TextMap
from headwater.config.source.cleaning import (
    CLEAN_DELAY,
    CLEAN_SOURCE,
    CleanAction,
    ensure_usable_cleaning,
    format_target,
    is_inside,
)
from headwater.config.source.section import SourceSection

_SUBSCRIPTION = r"^(projects/[^/\s]+/subscriptions/)?[A-Za-z][A-Za-z0-9._~+%-]{2,254}$"
# Shorter than Pub/Sub allows, by the suffix of the dead-letter topic.
_TOPIC = r"^[A-Za-z][A-Za-z0-9._~+%-]{2,249}$"
_LABEL = re.compile(r"[a-z][a-z0-9_-]{0,62}")
_LABEL_VALUE = re.compile(r"[a-z0-9_-]{0,63}")
_MAX_LABELS = 60


class SubscriptionConfig(Section):
    """The subscription: how long messages are held, and how many at a time."""

    # Pub/Sub may answer a short pull with nothing although messages wait.
    empty_poll_seconds: ClassVar[float] = 5.0

    endpoint: str | None = Field(
        None,
        pattern=r"^https?://[^\s/]+$",
        description="Endpoint of the Pub/Sub emulator, or of one region's Pub/Sub.",
        examples=["https://europe-west1-pubsub.googleapis.com"],
    )
    long_poll_wait: int = Field(20, ge=1, le=60, description="Wait time of a pull call, in seconds.")
    ack_deadline: int = Field(
        30,
        ge=10,
        le=150,
        description="Seconds for which received messages are held. A heartbeat extends them fourfold.",
    )
    max_messages_per_batch: int = Field(
        20_000, ge=1, le=100_000, description="Number of messages that closes a batch."
    )
    max_messages_per_request: int = Field(1_000, ge=1, le=1_000, description="Messages per pull call.")
    receivers: int = Field(4, ge=1, le=64, description="Maximum number of concurrent pull calls.")
    max_in_flight: int = Field(
        60_000, ge=10, le=1_000_000, description="Messages in flight at which receiving pauses."
    )

    @property
    def visibility_timeout(self) -> int:
        """Return the acknowledgement deadline by the name that other queues have for it."""
        return self.ack_deadline


class PubSubResourcesConfig(Section):
    """Topics and subscriptions that `headwater up` creates for the source."""

    topic: str | None = Field(
        None,
        pattern=_TOPIC,
        description="Name of the topic. Default: that of the subscription.",
        examples=["landing-events"],
    )
    max_delivery_attempts: int = Field(
        10, ge=5, le=100, description="Deliveries after which a message goes to the dead-letter topic."
    )
    labels: TextMap = Field(
        {}, description="Additional labels of the created resources.", examples=[{"team": "data"}]
    )

    @field_validator("labels")
    @classmethod
    def _check_labels(cls, labels: dict[str, str]) -> dict[str, str]:
        for name, value in labels.items():
            if not _LABEL.fullmatch(name) or not _LABEL_VALUE.fullmatch(value):
                raise ValueError(
                    f"invalid label {name!r}: {value!r}. Allowed: at most 63 lowercase letters, digits, `_` "
                    "and `-`; a name begins with a letter"
                )
            if name.startswith(("headwater_", "goog")):
                raise ValueError(f"the label {name!r} has a reserved prefix; choose another name")
        if len(labels) > _MAX_LABELS:
            raise ValueError(f"{len(labels)} labels; at most {_MAX_LABELS} are allowed")
        return labels


class GcsSourceConfig(SourceSection):
    """Objects in Google Cloud Storage, with notifications in Pub/Sub."""

    is_watched: ClassVar[bool] = False
    is_listed: ClassVar[bool] = True
    lists_ranges: ClassVar[bool] = True
    queue_keys: ClassVar[frozenset[str]] = frozenset({"project", "subscription", "queue", "resources"})
    location_key: ClassVar[str] = "bucket"
    # An object has another generation in another bucket, so it is another object.
    moved_from: ClassVar[None] = None

    type: Literal["gcs"] = Field(description="A bucket in Google Cloud Storage.")
    bucket: Annotated[str, AfterValidator(check_bucket_name)] = Field(
        min_length=1, description="Bucket name.", examples=["acme-landing"]
    )
    prefix: str = Field("", description="Ingest only keys with this prefix.")
    project: str | None = Field(
        None,
        min_length=1,
        description="Project of subscription and topic. Default: that of the credentials.",
        examples=["acme-data"],
    )
    subscription: str | None = Field(
        None,
        pattern=_SUBSCRIPTION,
        description="Pub/Sub subscription with the bucket's notifications: a name in `project`, or "
        "`projects/PROJECT/subscriptions/NAME`. Default: the one that `headwater up` creates, by its name.",
        examples=["acme-landing"],
    )
    endpoint: str | None = Field(
        None,
        pattern=r"^https?://[^\s/]+$",
        description="Endpoint of a service with the API of Cloud Storage. One with `http://` gets no "
        "credentials.",
    )
    file_system_scheme: Literal["gs"] | None = Field(
        None,
        description="URL scheme with which Spark reads large objects in splits, through Google's connector "
        "(38 MB), which is added to the session. Default: large objects are read whole.",
    )
    queue: SubscriptionConfig = Field(
        SubscriptionConfig(), description="How messages are pulled from the subscription."
    )
    resources: PubSubResourcesConfig = Field(
        PubSubResourcesConfig(), description="Resources that `headwater up` creates."
    )
    clean_source: CleanAction = Field("off", description=CLEAN_SOURCE)
    clean_source_delay: Duration = Field(2_592_000, description=CLEAN_DELAY, examples=["7d"])
    clean_source_move_to: str | None = Field(
        None,
        pattern=r"^gs://[^/\s]+(/.*)?$",
        description="Target location of `clean_source: move`; the whole key is appended.",
        examples=["gs://acme-archive/landing/"],
    )

    @property
    def location(self) -> str:
        """Return the bucket."""
        return self.bucket

    @property
    def known_location(self) -> str:
        """Return the bucket's name in the lake."""
        return self.bucket

    @property
    def address(self) -> str:
        """Return the URL of the source."""
        return f"gs://{self.bucket}/{self.prefix}"

    @property
    def notified_by(self) -> dict[str, str]:
        """Return the route of notifications, and the subscription if it is configured."""
        named = {"subscription": self.subscription} if self.subscription else {}
        return {"notifications": "pubsub"} | named

    @property
    def shared_queue(self) -> str:
        """Return what names the queue, so that sources can share it; empty for a queue of its own."""
        project = self.project or ""
        return f"{self.queue.endpoint or ''} {project} {self.subscription}" if self.subscription else ""

    @property
    def clean_source_target(self) -> str:
        """Return the target of moved objects, as `bucket/prefix/`; empty without a target."""
        return format_target(self.clean_source_move_to, "gs")

    @model_validator(mode="after")
    def _check_clean_source(self) -> "GcsSourceConfig":
        inside = is_inside(self.clean_source_target, self.bucket, self.prefix)
        ensure_usable_cleaning(self.clean_source, self.clean_source_delay, self.clean_source_move_to, inside)
        return self
