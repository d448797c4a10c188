"""Somebody else changes the bucket's notifications meanwhile: nothing of theirs is lost, or up says so."""

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from headwater.errors import CredentialsError, ResourceConflictError, SourceError
from headwater.sources.s3.planning.notification_merge import WantedRule, merge_notification
from headwater.sources.s3.planning.notification_rules import Configuration
from headwater.sources.s3.planning.ownership import build_owner
from headwater.sources.s3.provisioning.s3 import MERGE_TRIES, BucketNotification

BUCKET = "acme"
OWNER = build_owner("s3a://lake", BUCKET)
WANTED = WantedRule("queue", "arn:aws:sqs:eu-west-1:1:landing", "in/")


def theirs(*prefixes: str) -> dict[str, Any]:
    rules = [
        {
            "Id": f"theirs-{prefix}",
            "TopicArn": "arn:aws:sns:eu-west-1:1:t",
            "Events": ["s3:ObjectCreated:*"],
            "Filter": {"Key": {"FilterRules": [{"Name": "prefix", "Value": prefix}]}},
        }
        for prefix in prefixes
    ]
    return {"TopicConfigurations": rules} if rules else {}


def with_ours(configuration: dict[str, Any]) -> dict[str, Any]:
    return dict(merge_notification(configuration, WANTED, OWNER).configuration)


class ScriptedBucket:
    """A bucket whose answers are written down beforehand, and the pauses that were made."""

    def __init__(self) -> None:
        client = boto3.client("s3", region_name="eu-west-1", aws_access_key_id="a", aws_secret_access_key="b")
        self.stub = Stubber(client)
        self.pauses: list[float] = []
        self.bucket = BucketNotification(client, BUCKET, "123456789012", sleep=self.pauses.append)
        self._asked = {"Bucket": BUCKET, "ExpectedBucketOwner": "123456789012"}

    def holds(self, configuration: dict[str, Any]) -> None:
        """The next look finds this."""
        self.stub.add_response("get_bucket_notification_configuration", configuration, self._asked)

    def takes(self, configuration: dict[str, Any]) -> None:
        """The next write is this, and is taken."""
        written = {**self._asked, "NotificationConfiguration": configuration}
        self.stub.add_response("put_bucket_notification_configuration", {}, written)

    def refuses(self, code: str, message: str = "no") -> None:
        """The next write is refused."""
        self.stub.add_client_error("put_bucket_notification_configuration", code, message, 400)

    def write(self) -> None:
        def merge_into(current: Configuration) -> Any:
            return merge_notification(current, WANTED, OWNER)

        self.bucket.write(merge_into)


@pytest.fixture
def scripted() -> Iterator[ScriptedBucket]:
    scripted = ScriptedBucket()
    with scripted.stub:
        yield scripted
    scripted.stub.assert_no_pending_responses()


def test_written_configuration_is_read_back(scripted: ScriptedBucket) -> None:
    scripted.holds(theirs("out/"))
    scripted.takes(with_ours(theirs("out/")))
    scripted.holds(with_ours(theirs("out/")))
    scripted.write()


def test_nothing_is_written_when_ours_is_there(scripted: ScriptedBucket) -> None:
    scripted.holds(with_ours(theirs("out/")))
    scripted.write()


def test_overwritten_own_rule_is_merged_into_the_new_configuration(
    scripted: ScriptedBucket,
) -> None:
    scripted.holds(theirs("out/"))
    scripted.takes(with_ours(theirs("out/")))
    scripted.holds(theirs("out/", "new/"))

    scripted.holds(theirs("out/", "new/"))
    scripted.takes(with_ours(theirs("out/", "new/")))
    scripted.holds(with_ours(theirs("out/", "new/")))
    scripted.write()


def test_external_rules_added_later_are_kept(scripted: ScriptedBucket) -> None:
    scripted.holds({})
    scripted.takes(with_ours({}))
    scripted.holds(with_ours(theirs("new/")))
    scripted.write()


def test_overlapping_rule_added_concurrently_stops_the_merge(scripted: ScriptedBucket) -> None:
    scripted.holds({})
    scripted.takes(with_ours({}))
    scripted.holds(theirs("in/images/"))
    scripted.holds(theirs("in/images/"))
    with pytest.raises(ResourceConflictError, match="theirs-in/images/"):
        scripted.write()


def test_a_fight_over_the_configuration_is_given_up_and_explained(scripted: ScriptedBucket) -> None:
    for _ in range(MERGE_TRIES):
        scripted.holds(theirs("out/"))
        scripted.takes(with_ours(theirs("out/")))
        scripted.holds(theirs("out/"))
    scripted.holds(theirs("out/"))
    with pytest.raises(ResourceConflictError, match="keeps changing its notification") as caught:
        scripted.write()
    assert "theirs-out/" in caught.value.hint
    assert scripted.pauses == sorted(scripted.pauses)


def test_a_queue_whose_policy_is_not_known_everywhere_yet_is_waited_for(scripted: ScriptedBucket) -> None:
    scripted.holds({})
    text = "Unable to validate the following destination configurations"
    scripted.refuses("InvalidArgument", text)
    scripted.refuses("InvalidArgument", text)
    scripted.takes(with_ours({}))
    scripted.holds(with_ours({}))
    scripted.write()
    assert len(scripted.pauses) == 2


@pytest.mark.parametrize(
    ("code", "message", "expected"),
    [("AccessDenied", "no", CredentialsError), ("InvalidArgument", "Configurations overlap", SourceError)],
)
def test_rejection_is_reported_immediately(
    scripted: ScriptedBucket, code: str, message: str, expected: type[SourceError]
) -> None:
    scripted.holds({})
    scripted.refuses(code, message)
    with pytest.raises(expected) as caught:
        scripted.write()
    assert type(caught.value) is expected
    assert scripted.pauses == []
    assert ("s3:PutBucketNotification" in caught.value.hint) == (code == "AccessDenied")
