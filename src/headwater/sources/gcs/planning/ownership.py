"""The labels by which headwater recognizes its resources in Google Cloud. Pure."""

import re
from collections.abc import Iterable

from headwater.sources.planning.ownership import Owner, TagStyle

LABELS = TagStyle(
    "label",
    "headwater_owner",
    "headwater_lake",
    "headwater_source",
    re.compile(r"[^a-z0-9_-]+"),
    63,
    has_capitals=False,
)
RULE_ATTRIBUTE = "headwater_rule"
"""Custom attribute of a notification configuration, which has no labels: owner and source."""


def build_owner(lake: str, bucket: str, prefix: str = "", others: Iterable[tuple[str, str]] = ()) -> Owner:
    """Return the owner of resources for a bucket's keys under a prefix and a lake.

    `others` are bucket and prefix of the lake's other sources.
    """
    siblings = (f"gs://{name}/{below}" for name, below in others)
    return Owner.of(lake, f"gs://{bucket}/{prefix}", LABELS, siblings)
