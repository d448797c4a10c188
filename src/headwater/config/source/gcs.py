"""`source: {type: gcs}`: a bucket in Google Cloud Storage, and the subscription to its notifications."""

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, model_validator

from headwater.config.addresses import check_bucket_name
from headwater.config.section import Duration, Section
from headwater.config.source.cleaning import (
    CLEAN_DELAY,
    CLEAN_SOURCE,
    CleanAction,
    ensure_usable_cleaning,
    format_target,
    is_inside,
)

_SUBSCRIPTION = r"^(projects/[^/\s]+/subscriptions/)?[A-Za-z][A-Za-z0-9._~+%-]{2,254}$"


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


class GcsSourceConfig(Section):
    """Objects in Google Cloud Storage, with notifications in Pub/Sub."""

    is_watched: ClassVar[bool] = False
    lists_ranges: ClassVar[bool] = True
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
        description="Project of the subscription. Default: that of the credentials.",
        examples=["acme-data"],
    )
    subscription: str = Field(
        pattern=_SUBSCRIPTION,
        description="Pub/Sub subscription with the bucket's notifications: a name in `project`, or "
        "`projects/PROJECT/subscriptions/NAME`.",
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
        description="URL scheme with which Spark reads large objects in splits; requires Google's connector "
        "for Hadoop in the session. Default: large objects are read whole.",
    )
    queue: SubscriptionConfig = Field(
        SubscriptionConfig(), description="How messages are pulled from the subscription."
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
        """Return the route of notifications."""
        return {"notifications": "pubsub", "subscription": self.subscription}

    @property
    def clean_source_target(self) -> str:
        """Return the target of moved objects, as `bucket/prefix/`; empty without a target."""
        return format_target(self.clean_source_move_to, "gs")

    @model_validator(mode="after")
    def _check_clean_source(self) -> "GcsSourceConfig":
        inside = is_inside(self.clean_source_target, self.bucket, self.prefix)
        ensure_usable_cleaning(self.clean_source, self.clean_source_delay, self.clean_source_move_to, inside)
        return self
