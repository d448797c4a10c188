"""`CloudName`: the clouds of which a demo has emulators, and Kafka."""

from enum import Enum


class CloudName(str, Enum):
    """A cloud, by the type of its sources."""

    s3 = "s3"
    gcs = "gcs"
    azure = "azure"
    kafka = "kafka"
