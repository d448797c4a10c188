"""`source: {type: azure}`: a container in Azure Blob Storage, and the queue with its events."""

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, model_validator

from headwater.config.addresses import check_bucket_name
from headwater.config.azure_account import find_dfs_host
from headwater.config.section import Duration, Section
from headwater.config.source.cleaning import (
    CLEAN_DELAY,
    CLEAN_SOURCE,
    CleanAction,
    ensure_usable_cleaning,
    format_target,
    is_inside,
)
from headwater.config.source.section import SourceSection

_ACCOUNT = r"^[a-z0-9]{3,24}$"
# https://learn.microsoft.com/rest/api/storageservices/naming-queues-and-metadata
_QUEUE = r"^[a-z0-9](-?[a-z0-9]){2,62}$"
# An emulator has the account in the path.
_ENDPOINT = r"^https?://[^\s/]+(/[a-z0-9]+)?$"


class StorageQueueConfig(Section):
    """The storage queue to which Event Grid delivers the container's events."""

    # A queue is on one server, which knows all of its messages.
    empty_poll_seconds: ClassVar[float] = 1.0

    name: str = Field(pattern=_QUEUE, description="Name of the queue.", examples=["landing-events"])
    account: str | None = Field(
        None, pattern=_ACCOUNT, description="Storage account of the queue. Default: the source's."
    )
    endpoint: str | None = Field(
        None,
        pattern=_ENDPOINT,
        description="Endpoint of the queue service, if it is not `https://ACCOUNT.queue.core.windows.net`.",
        examples=["https://acmelake.queue.core.chinacloudapi.cn"],
    )
    long_poll_wait: int = Field(
        20, ge=1, le=60, description="Wait time for messages, in seconds. The queue is asked every second."
    )
    visibility_timeout: int = Field(
        120,
        ge=1,
        le=43_200,
        description="Seconds for which received messages are hidden. After a third of them, a heartbeat "
        "hides a message for four times as long, by a request for each message.",
    )
    max_messages_per_batch: int = Field(
        20_000, ge=1, le=100_000, description="Number of messages that closes a batch."
    )
    max_messages_per_request: int = Field(32, ge=1, le=32, description="Messages per receive call.")
    receivers: int = Field(8, ge=1, le=64, description="Maximum number of concurrent receive calls.")
    max_in_flight: int = Field(
        60_000, ge=10, le=1_000_000, description="Messages in flight at which receiving pauses."
    )


class AzureSourceConfig(SourceSection):
    """Blobs in Azure Blob Storage, with events from Event Grid in a storage queue."""

    is_watched: ClassVar[bool] = False
    is_listed: ClassVar[bool] = True
    # A listing is sorted before it is used, see `headwater.sources.azure.lister`.
    lists_ranges: ClassVar[bool] = False
    queue_keys: ClassVar[frozenset[str]] = frozenset({"queue"})
    location_key: ClassVar[str] = "container"
    # A copied blob has another etag, so it is another object.
    moved_from: ClassVar[None] = None

    type: Literal["azure"] = Field(description="A container in Azure Blob Storage.")
    account: str = Field(pattern=_ACCOUNT, description="Storage account.", examples=["acmelake"])
    container: Annotated[str, AfterValidator(check_bucket_name)] = Field(
        min_length=1, description="Container name.", examples=["landing"]
    )
    prefix: str = Field("", description="Ingest only blobs with this prefix.")
    endpoint: str | None = Field(
        None,
        pattern=_ENDPOINT,
        description="Endpoint of the blob service, if it is not `https://ACCOUNT.blob.core.windows.net`.",
        examples=["https://acmelake.blob.core.chinacloudapi.cn"],
    )
    file_system_scheme: Literal["abfss"] | None = Field(
        None,
        description="URL scheme with which Spark reads large objects in splits, through Hadoop's driver for "
        "Azure, which headwater adds to the session. Default: large objects are read whole.",
    )
    queue: StorageQueueConfig = Field(description="The queue with the container's events.")
    clean_source: CleanAction = Field("off", description=CLEAN_SOURCE)
    clean_source_delay: Duration = Field(2_592_000, description=CLEAN_DELAY, examples=["7d"])
    clean_source_move_to: str | None = Field(
        None,
        pattern=r"^abfs://[^/@\s]+(/.*)?$",
        description="Target location of `clean_source: move`, in a container of the same account; the whole "
        "name is appended.",
        examples=["abfs://archive/landing/"],
    )

    @property
    def location(self) -> str:
        """Return the container."""
        return self.container

    @property
    def known_location(self) -> str:
        """Return the container's name in the lake."""
        return self.container

    @property
    def address(self) -> str:
        """Return the URL of the source."""
        return f"abfss://{self.container}@{self.dfs_host}/{self.prefix}"

    @property
    def dfs_host(self) -> str:
        """Return the host of the account for Data Lake Storage, with which Spark reads it."""
        return find_dfs_host(self.account, self.endpoint)

    @property
    def dfs_endpoint(self) -> str | None:
        """Return the endpoint of an emulator, which serves Data Lake Storage, too; None for Azure."""
        return self.endpoint if self.endpoint and self.endpoint.endswith(f"/{self.account}") else None

    @property
    def notified_by(self) -> dict[str, str]:
        """Return the route of notifications."""
        return {"notifications": "eventgrid", "queue": self.queue.name}

    @property
    def shared_queue(self) -> str:
        """Return what names the queue, so that sources can share it."""
        return f"{self.queue.endpoint or self.queue.account or self.account} {self.queue.name}"

    @property
    def clean_source_target(self) -> str:
        """Return the target of moved blobs, as `container/prefix/`; empty without a target."""
        return format_target(self.clean_source_move_to, "abfs")

    @model_validator(mode="after")
    def _check_clean_source(self) -> "AzureSourceConfig":
        inside = is_inside(self.clean_source_target, self.container, self.prefix)
        ensure_usable_cleaning(self.clean_source, self.clean_source_delay, self.clean_source_move_to, inside)
        return self
