"""Names of a source's subscription and topics, derived the same way by `up` and `run`. Pure."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headwater.sources.planning.names import DEAD_LETTER_ENDING, derive_name
from headwater.sources.provisioner import ResourceKind

if TYPE_CHECKING:
    from headwater.config.source import GcsSourceConfig

# Pub/Sub allows 255 characters.
_MAX_NAME = 255 - len(DEAD_LETTER_ENDING)


@dataclass(frozen=True, slots=True)
class Addresses:
    """The full names of a source's resources, existing or not; all of them are in one project."""

    topic: str
    subscription: str
    dead_letter_topic: str
    dead_letter_subscription: str

    @classmethod
    def of(cls, source: "GcsSourceConfig", project: str) -> "Addresses":
        """Build the names of resources in a project."""
        subscription = last_part(name_subscription(source))
        topic = source.resources.topic or subscription[:_MAX_NAME]
        return cls(
            topic=f"projects/{project}/topics/{topic}",
            subscription=f"projects/{project}/subscriptions/{subscription}",
            dead_letter_topic=f"projects/{project}/topics/{topic}{DEAD_LETTER_ENDING}",
            dead_letter_subscription=(
                f"projects/{project}/subscriptions/{subscription[:_MAX_NAME]}{DEAD_LETTER_ENDING}"
            ),
        )

    @property
    def by_kind(self) -> dict[ResourceKind, str]:
        """Return all names in the order of creation."""
        return {
            "dead_letter_topic": self.dead_letter_topic,
            "dead_letter_subscription": self.dead_letter_subscription,
            "topic": self.topic,
            "subscription": self.subscription,
        }


def name_subscription(source: "GcsSourceConfig") -> str:
    """Return the configured name, which may be a full one, else one derived from bucket and prefix only."""
    return source.subscription or derive_name(source.bucket, source.prefix)


def last_part(name: str) -> str:
    """Return the last part of a full name."""
    return name.rpartition("/")[2]


def project_of(name: str) -> str:
    """Return the project of a full name."""
    return name.split("/")[1]
