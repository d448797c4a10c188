"""Determines the owner of a resource by its tags, never by its name. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from headwater.sources.s3.resource_names import digest

OWNER_TAG = "headwater:owner"
LAKE_TAG = "headwater:lake"
SOURCE_TAG = "headwater:source"
MAX_TAG_VALUE = 256

Standing = Literal["ours", "another's", "untagged"]

# Characters outside the set that SQS, SNS and EventBridge all allow in a tag's value.
_UNSAFE = re.compile(r"[^\w .:/=+@-]")


@dataclass(frozen=True, slots=True)
class Owner:
    """The headwater of one lake and its source; `id` is eight hex digits of the lake."""

    id: str
    lake: str
    source: str

    @classmethod
    def of(cls, lake: str, bucket: str, prefix: str = "") -> "Owner":
        """Return the owner of resources for a bucket's keys under a prefix and a lake."""
        return cls(digest(lake.rstrip("/")), lake, f"s3://{bucket}/{prefix}")

    @property
    def rule_start(self) -> str:
        """Return the prefix of the ids of this owner's notification rules, for any source."""
        return f"headwater-{self.id}-"

    @property
    def rule_id(self) -> str:
        """Return the id of the notification rule of this owner and source."""
        return f"{self.rule_start}{digest(self.source)}"

    def build_tags(self, further: Mapping[str, str]) -> dict[str, str]:
        """Return the tags of this owner's resources; `further` are the user's."""
        own = {OWNER_TAG: self.id, LAKE_TAG: self.lake, SOURCE_TAG: self.source}
        return {**{name: _fit(value) for name, value in own.items()}, **further}

    def judge(self, tags: Mapping[str, str]) -> Standing:
        """Determine the owner of a resource with these tags."""
        found = tags.get(OWNER_TAG)
        if found is None:
            return "untagged"
        return "ours" if found == self.id else "another's"


def _fit(value: str) -> str:
    return _UNSAFE.sub("_", value)[:MAX_TAG_VALUE]
