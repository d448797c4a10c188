"""`S3Source`: a bucket with its queue, see `headwater.sources.source`."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from headwater.config.source import S3SourceConfig
from headwater.observability.clock import Clock
from headwater.sources.bucket_address import parse_bucket_address
from headwater.sources.finding import SetupFinding
from headwater.sources.lister import UnusablePath
from headwater.sources.object_store import ObjectStoreConfig
from headwater.sources.s3.access import DEFAULT_ACCESS, Access
from headwater.sources.s3.checks.bucket import check_s3_source, ensure_bucket
from headwater.sources.s3.checks.queue import read_attributes
from headwater.sources.s3.lister import S3Lister, build_listing_client

_SCHEMES = ("s3", "s3a", "s3n")


class S3Source:
    """Objects of a bucket in AWS or in a service with the same API."""

    def __init__(self, config: S3SourceConfig) -> None:
        self._config = config

    def build_store_config(self) -> ObjectStoreConfig:
        """See `Source`."""
        config = self._config
        access = Access.of(config)
        return ObjectStoreConfig(
            "s3",
            region=config.region,
            endpoint=config.endpoint,
            scheme=config.file_system_scheme,
            # Hadoop 3.3 assumes no role with an external id, and reads profiles on each executor.
            spark_reads=access == DEFAULT_ACCESS,
            profile=access.profile,
            role=access.role_arn,
            external_id=access.external_id,
        )

    @contextmanager
    def open_lister(
        self, pace: Callable[[], None], on_unusable: Callable[[UnusablePath], None] | None = None
    ) -> Iterator[S3Lister]:
        """See `Source`. Every key of a bucket can be listed."""
        lister = S3Lister(build_listing_client(self._config), self._config.bucket, pace=pace)
        try:
            yield lister
        finally:
            lister.close()

    def parse_address(self, address: str) -> str:
        """See `Source`. An address is a URL; objects moved to another bucket have two."""
        config = self._config
        buckets = (config.bucket, config.known_location)
        return parse_bucket_address(address, _SCHEMES, buckets, f"s3://{config.bucket}/KEY")

    def list_preflight_checks(self, *, captures: bool) -> Sequence[Callable[[], object]]:
        """See `Source`."""
        # The bucket first: a wrong bucket has no queue either, and the queue's name derives from it.
        queue = [lambda: read_attributes(self._config)] if captures else []
        return [lambda: ensure_bucket(self._config), *queue]

    def check(self, *, needs_removals: bool, clock: Clock) -> list[SetupFinding]:
        """See `Source`."""
        return check_s3_source(self._config, needs_removals=needs_removals, clock=clock)
