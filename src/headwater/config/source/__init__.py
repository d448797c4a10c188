"""`source:`, `capture:` and `reconcile:`: where objects are created, and how headwater is notified."""

from typing import Annotated

from pydantic import Field

from headwater.config.source.azure import AzureSourceConfig, StorageQueueConfig
from headwater.config.source.capture import CaptureConfig
from headwater.config.source.gcs import GcsSourceConfig, PubSubResourcesConfig, SubscriptionConfig
from headwater.config.source.kafka import KafkaSourceConfig
from headwater.config.source.local import LocalSourceConfig
from headwater.config.source.reconcile import ReconcileConfig
from headwater.config.source.s3 import QueueConfig, ResourcesConfig, S3SourceConfig

SourceConfig = Annotated[
    S3SourceConfig | GcsSourceConfig | AzureSourceConfig | LocalSourceConfig | KafkaSourceConfig,
    Field(discriminator="type"),
]

__all__ = [
    "AzureSourceConfig",
    "CaptureConfig",
    "GcsSourceConfig",
    "KafkaSourceConfig",
    "LocalSourceConfig",
    "PubSubResourcesConfig",
    "QueueConfig",
    "ReconcileConfig",
    "ResourcesConfig",
    "S3SourceConfig",
    "SourceConfig",
    "StorageQueueConfig",
    "SubscriptionConfig",
]
