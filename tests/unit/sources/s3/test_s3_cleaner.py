"""What the S3 cleaner makes of the answers of stores: conditions, refusals, archived objects."""

from datetime import datetime, timezone
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from headwater.errors import CredentialsError, ObjectForbiddenError, SourceUnavailableError
from headwater.sources.cleaner import CleanTarget
from headwater.sources.lister import ListedObject
from headwater.sources.s3.cleaner import S3Cleaner

TIME = datetime(2026, 5, 1, 1, 2, 3, tzinfo=timezone.utc)
LISTED = ListedObject("a.json", 3, "e1", None, TIME.replace(microsecond=250_000))
WHICH = {"Bucket": "landing", "Key": "a.json"}
HEAD = {"ETag": '"e1"', "LastModified": TIME, "ContentLength": 3}


@pytest.fixture
def client() -> Any:
    return boto3.session.Session().client(
        "s3", region_name="eu-west-1", aws_access_key_id="key", aws_secret_access_key="secret"
    )


def test_a_deletion_names_the_etag(client: Any) -> None:
    with Stubber(client) as store:
        store.add_response("head_object", HEAD, WHICH)
        store.add_response("delete_object", {}, {**WHICH, "IfMatch": '"e1"'})
        assert S3Cleaner(client, "landing", CleanTarget("delete")).clean(LISTED) == "cleaned"
        store.assert_no_pending_responses()


def test_a_store_without_conditions_is_asked_without_them_from_then_on(client: Any) -> None:
    cleaner = S3Cleaner(client, "landing", CleanTarget("delete"))
    with Stubber(client) as store:
        store.add_response("head_object", HEAD, WHICH)
        store.add_client_error("delete_object", "NotImplemented", http_status_code=501)
        store.add_response("delete_object", {}, WHICH)
        store.add_response("head_object", HEAD, WHICH)
        store.add_response("delete_object", {}, WHICH)
        assert [cleaner.clean(LISTED), cleaner.clean(LISTED)] == ["cleaned", "cleaned"]
        store.assert_no_pending_responses()


def test_object_changed_between_head_and_delete_is_kept(client: Any) -> None:
    with Stubber(client) as store:
        store.add_response("head_object", HEAD, WHICH)
        store.add_client_error("delete_object", "PreconditionFailed", http_status_code=412)
        assert S3Cleaner(client, "landing", CleanTarget("delete")).clean(LISTED) == "changed"


@pytest.mark.parametrize("changed", [{"ETag": '"e2"'}, {"LastModified": TIME.replace(second=4)}])
def test_nothing_is_asked_of_something_else(client: Any, changed: dict[str, Any]) -> None:
    with Stubber(client) as store:
        store.add_response("head_object", {**HEAD, **changed}, WHICH)
        assert S3Cleaner(client, "landing", CleanTarget("delete")).clean(LISTED) == "changed"


def test_a_missing_right_ends_the_pass_and_is_named(client: Any) -> None:
    cleaner = S3Cleaner(client, "landing", CleanTarget("delete"))
    with Stubber(client) as store:
        store.add_response("head_object", HEAD, WHICH)
        store.add_client_error("delete_object", "AccessDenied", http_status_code=403)
        with pytest.raises(CredentialsError, match="s3:DeleteObject is denied"):
            cleaner.clean(LISTED)


def test_an_archived_object_is_its_own_trouble(client: Any) -> None:
    cleaner = S3Cleaner(client, "landing", CleanTarget("move", "archive/"))
    with Stubber(client) as store:
        store.add_response("head_object", HEAD, WHICH)
        # What the managed copy asks for itself.
        store.add_response("head_object", HEAD, {**WHICH, "IfMatch": '"e1"'})
        store.add_client_error("copy_object", "InvalidObjectState", http_status_code=403)
        with pytest.raises(ObjectForbiddenError, match="archived"):
            cleaner.clean(LISTED)


def test_a_busy_store_is_asked_again_later(client: Any) -> None:
    cleaner = S3Cleaner(client, "landing", CleanTarget("delete"))
    with Stubber(client) as store:
        store.add_client_error("head_object", "SlowDown", http_status_code=503)
        with pytest.raises(SourceUnavailableError):
            cleaner.clean(LISTED)


def test_the_version_that_was_seen_is_tagged(client: Any) -> None:
    version = {**WHICH, "VersionId": "v1"}
    with Stubber(client) as store:
        store.add_response("head_object", {**HEAD, "VersionId": "v1"}, WHICH)
        store.add_response("get_object_tagging", {"TagSet": []}, version)
        tags = {"TagSet": [{"Key": "headwater", "Value": "ingested"}]}
        store.add_response("put_object_tagging", {}, {**version, "Tagging": tags})
        assert (
            S3Cleaner(client, "landing", CleanTarget("tag", tags={"headwater": "ingested"})).clean(LISTED)
            == "cleaned"
        )
        store.assert_no_pending_responses()
