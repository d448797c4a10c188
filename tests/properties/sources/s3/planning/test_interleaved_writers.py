"""Others write the bucket's notifications at any moment: ours gets in, and theirs stay in."""

from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from headwater.errors import ResourceConflictError
from headwater.sources.s3.judging.notification import Route
from headwater.sources.s3.planning.notification_merge import WantedRule, merge_notification
from headwater.sources.s3.planning.notification_rules import Configuration, build_rule, is_same, list_routes
from headwater.sources.s3.planning.ownership import build_owner
from headwater.sources.s3.provisioning.s3 import MERGE_TRIES, BucketNotification

OWNER = build_owner("s3a://lake", "acme")
WANTED = WantedRule("queue", "arn:aws:sqs:eu-west-1:1:landing", "in/")
# Before which of our requests somebody else writes: whole configurations that may hold ours or not.
Writes = Mapping[int, tuple[frozenset[int], bool]]


class Bucket:
    """S3 as far as one bucket's notifications go. `writes` of others come before our n-th request."""

    def __init__(self, writes: Writes) -> None:
        self.configuration: Configuration = {}
        self.requests: list[str] = []
        self.theirs_last = -1
        self._writes = writes

    def get_bucket_notification_configuration(self, **_: str) -> Configuration:
        self._let_others_write("get")
        return {**self.configuration, "ResponseMetadata": {}}

    def put_bucket_notification_configuration(self, **given: Any) -> None:
        self._let_others_write("put")
        self.configuration = given["NotificationConfiguration"]

    def _let_others_write(self, request: str) -> None:
        at = len(self.requests)
        self.requests.append(request)
        if at not in self._writes:
            return
        rules, keeps_ours = self._writes[at]
        whole: dict[str, object] = {
            "TopicConfigurations": [
                build_rule(
                    f"theirs-{number}",
                    Route("topic", "t", frozenset({"s3:ObjectCreated:*"}), f"out/{number}/"),
                )
                for number in sorted(rules)
            ]
        }
        if keeps_ours and any(item.id == OWNER.rule_id for item in list_routes(self.configuration)):
            whole = dict(merge_notification(whole, WANTED, OWNER).configuration)
        self.configuration = whole
        self.theirs_last = at


def write(bucket: Any) -> bool:
    """Whether ours got in; False when it was given up."""
    try:
        BucketNotification(bucket, "acme", sleep=lambda _: None).write(
            lambda current: merge_notification(current, WANTED, OWNER)
        )
    except ResourceConflictError:
        return False
    return True


writes = st.dictionaries(
    st.integers(0, 3 * MERGE_TRIES), st.tuples(st.frozensets(st.integers(0, 3), max_size=3), st.booleans())
)


@given(writes)
def test_reported_success_keeps_own_and_external_rules(found: Writes) -> None:
    bucket = Bucket(found)
    if not write(bucket):
        # Somebody wrote over ours between each write and the look after it.
        assert len(found) >= MERGE_TRIES
        return
    assert any(item.id == OWNER.rule_id for item in list_routes(bucket.configuration))
    if bucket.theirs_last >= 0 and bucket.requests[bucket.theirs_last] != "put":
        rules, _ = found[bucket.theirs_last]
        expected = {f"theirs-{number}" for number in rules}
        assert {item.id for item in list_routes(bucket.configuration)} - {OWNER.rule_id} == expected


@given(writes)
def test_a_second_time_writes_nothing(found: Writes) -> None:
    bucket = Bucket(found)
    if not write(bucket):
        return
    calm = Bucket({})
    calm.configuration = bucket.configuration
    assert write(calm)
    assert calm.requests == ["get"]
    assert is_same(calm.configuration, bucket.configuration)
