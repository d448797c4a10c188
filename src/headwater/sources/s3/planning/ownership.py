"""The tags by which headwater recognizes its resources in AWS. Pure."""

import re
from collections.abc import Iterable

from headwater.sources.planning.ownership import Owner, TagStyle

# Characters that SQS, SNS and EventBridge all allow in a tag's value.
AWS_TAGS = TagStyle(
    "tag", "headwater:owner", "headwater:lake", "headwater:source", re.compile(r"[^\w .:/=+@-]"), 256
)


def build_owner(lake: str, bucket: str, prefix: str = "", others: Iterable[tuple[str, str]] = ()) -> Owner:
    """Return the owner of resources for a bucket's keys under a prefix and a lake.

    `others` are bucket and prefix of the lake's other sources.
    """
    siblings = (f"s3://{name}/{below}" for name, below in others)
    return Owner.of(lake, f"s3://{bucket}/{prefix}", AWS_TAGS, siblings)
