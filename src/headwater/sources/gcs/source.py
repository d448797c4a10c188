"""`GcsSource`: a bucket in Google Cloud Storage with its subscription, see `headwater.sources.source`."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from headwater.config.source import GcsSourceConfig
from headwater.observability.clock import Clock
from headwater.sources.bucket_address import parse_bucket_address
from headwater.sources.finding import SetupFinding
from headwater.sources.gcs.checks import check_gcs_source, ensure_bucket, ensure_subscription
from headwater.sources.gcs.clients import build_storage_client
from headwater.sources.gcs.lister import GcsLister
from headwater.sources.lister import UnusablePath
from headwater.sources.object_store import ObjectStoreConfig

_SCHEMES = ("gs", "gcs")


class GcsSource:
    """Objects of a bucket in Google Cloud Storage."""

    def __init__(self, config: GcsSourceConfig) -> None:
        self._config = config

    def build_store_config(self) -> ObjectStoreConfig:
        """See `Source`."""
        return ObjectStoreConfig(
            "gcs",
            endpoint=self._config.endpoint,
            scheme="gs",
            spark_reads=self._config.file_system_scheme is not None,
        )

    @contextmanager
    def open_lister(
        self, pace: Callable[[], None], on_unusable: Callable[[UnusablePath], None] | None = None
    ) -> Iterator[GcsLister]:
        """See `Source`. Every key of a bucket can be listed."""
        config = self._config
        lister = GcsLister(build_storage_client(config.endpoint, config.project), config.bucket, pace=pace)
        try:
            yield lister
        finally:
            lister.close()

    def parse_address(self, address: str) -> str:
        """See `Source`. An address is a URL."""
        bucket = self._config.bucket
        return parse_bucket_address(address, _SCHEMES, (bucket,), f"gs://{bucket}/KEY")

    def list_preflight_checks(self, *, captures: bool) -> Sequence[Callable[[], object]]:
        """See `Source`."""
        queue = [lambda: ensure_subscription(self._config)] if captures else []
        return [lambda: ensure_bucket(self._config), *queue]

    def check(self, *, needs_removals: bool, clock: Clock) -> list[SetupFinding]:
        """See `Source`."""
        return check_gcs_source(self._config, needs_removals=needs_removals)
