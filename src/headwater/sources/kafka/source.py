"""`KafkaSource`: topics of a Kafka cluster, see `headwater.sources.source`."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from headwater.config.source import KafkaSourceConfig
from headwater.errors import UsageError
from headwater.observability.clock import Clock
from headwater.sources.finding import SetupFinding
from headwater.sources.kafka.checks import check_kafka_source, ensure_topics
from headwater.sources.kafka.cluster import Cluster, build_settings
from headwater.sources.kafka.lister import KafkaLister
from headwater.sources.lister import UnusablePath
from headwater.sources.object_store import ObjectStoreConfig


class KafkaSource:
    """Ranges of offsets of the topics."""

    def __init__(self, config: KafkaSourceConfig) -> None:
        self._config = config

    def build_store_config(self) -> ObjectStoreConfig:
        """See `Source`."""
        settings = build_settings(self._config)
        return ObjectStoreConfig("kafka", scheme="kafka", spark_reads=False, client=settings)

    @contextmanager
    def open_lister(
        self, pace: Callable[[], None], on_unusable: Callable[[UnusablePath], None] | None = None
    ) -> Iterator[KafkaLister]:
        """See `Source`. A few requests ask for all partitions, so nothing is paced."""
        yield KafkaLister(Cluster(build_settings(self._config)), self._config.topics, on_unusable)

    def parse_address(self, address: str) -> str:
        """See `Source`. An address is `kafka://CLUSTER/TOPIC/PARTITION/FIRST-LAST`."""
        start = f"{self._config.address}/"
        if "://" in address and not address.startswith(start):
            raise UsageError(
                f"{address} is not in the cluster {self._config.location}",
                hint=f"specify an address that begins with {start}",
            )
        return address.removeprefix(start)

    def list_preflight_checks(self, *, captures: bool) -> Sequence[Callable[[], object]]:
        """See `Source`."""
        del captures  # the queue of a cluster is in the process
        return [lambda: ensure_topics(self._config)]

    def check(self, *, needs_removals: bool, clock: Clock) -> list[SetupFinding]:
        """See `Source`. Messages are never removed from tables, except by tombstones."""
        return check_kafka_source(self._config)
