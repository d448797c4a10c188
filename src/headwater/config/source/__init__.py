"""`source:`, `capture:` and `reconcile:`: where objects are created, and how headwater is notified."""

from typing import Annotated

from pydantic import AfterValidator, Discriminator, Field, Tag

from headwater.config.source.azure import AzureSourceConfig, StorageQueueConfig
from headwater.config.source.capture import CaptureConfig
from headwater.config.source.gcs import GcsSourceConfig, PubSubResourcesConfig, SubscriptionConfig
from headwater.config.source.kafka import KafkaSourceConfig
from headwater.config.source.local import LocalSourceConfig
from headwater.config.source.reconcile import ReconcileConfig
from headwater.config.source.s3 import QueueConfig, ResourcesConfig, S3SourceConfig

ONE, SEVERAL = "[one]", "[several]"
"""Marks in the locations of pydantic's errors, for the two forms of `source`."""

SourceConfig = Annotated[
    S3SourceConfig | GcsSourceConfig | AzureSourceConfig | LocalSourceConfig | KafkaSourceConfig,
    Field(discriminator="type"),
]


def _choose_form(value: object) -> str:
    return SEVERAL if isinstance(value, list | tuple) else ONE


def _refuse_empty(sources: tuple[SourceConfig, ...]) -> tuple[SourceConfig, ...]:
    # Not `min_length`: pydantic counts only valid sources, and would report a list of invalid ones as empty.
    if not sources:
        raise ValueError("empty; specify at least one source")
    return sources


OneOrSeveralSources = Annotated[
    Annotated[SourceConfig, Tag(ONE)]
    | Annotated[tuple[SourceConfig, ...], AfterValidator(_refuse_empty), Tag(SEVERAL)],
    Discriminator(_choose_form),
]

__all__ = [
    "AzureSourceConfig",
    "CaptureConfig",
    "GcsSourceConfig",
    "KafkaSourceConfig",
    "LocalSourceConfig",
    "OneOrSeveralSources",
    "PubSubResourcesConfig",
    "QueueConfig",
    "ReconcileConfig",
    "ResourcesConfig",
    "S3SourceConfig",
    "SourceConfig",
    "StorageQueueConfig",
    "SubscriptionConfig",
]
