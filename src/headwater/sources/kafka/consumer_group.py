"""`ConsumerGroup`: captured offsets in a group of the cluster, for tools that show the lag of groups."""

from collections.abc import Mapping

import structlog
from confluent_kafka import Consumer, KafkaException, TopicPartition

from headwater.sources.kafka.cluster import Settings, with_credentials
from headwater.sources.kafka.ranges import Partition

log = structlog.stdlib.get_logger(__name__)


class ConsumerGroup:
    """Commits offsets and reads nothing: see `headwater.sources.kafka.offset_poller.Group`."""

    def __init__(self, settings: Settings, name: str) -> None:
        self._name = name
        self._consumer = Consumer(
            {**with_credentials(settings), "group.id": name, "enable.auto.commit": False}
        )
        self._is_reported = False

    def commit(self, offsets: Mapping[Partition, int]) -> None:
        """Commit the offsets. A failure is logged once: only what other tools show is wrong."""
        places = [TopicPartition(*partition, offset) for partition, offset in offsets.items()]
        try:
            self._consumer.commit(offsets=places, asynchronous=False)
        except KafkaException as error:
            if not self._is_reported:
                log.warning("offsets not committed in the group", group=self._name, error=str(error))
            self._is_reported = True
