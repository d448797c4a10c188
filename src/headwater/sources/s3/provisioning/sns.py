"""Provisions SNS topics and their subscriptions."""

from typing import Any

from botocore.exceptions import ClientError

from headwater.sources.planning.actions import Observed
from headwater.sources.provisioner import ResourceAction
from headwater.sources.s3.aws import asking, error_code
from headwater.sources.subject import Subject

_MISSING = frozenset({"NotFound", "NotFoundException", "TopicNotFound"})


class TopicResources:
    """A topic and the subscription of one queue to it."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def read_topic(self, arn: str) -> Observed | None:
        """Return the topic; None if there is none."""
        with asking(_name(arn), "sns"):
            try:
                attributes = self._client.get_topic_attributes(TopicArn=arn)["Attributes"]
            except ClientError as error:
                if error_code(error) in _MISSING:
                    return None
                raise
            found = self._client.list_tags_for_resource(ResourceArn=arn).get("Tags", [])
        tags = {tag["Key"]: tag["Value"] for tag in found}
        return Observed("topic", _last(arn), arn, {str(k): str(v) for k, v in attributes.items()}, tags)

    def read_subscription(self, topic_arn: str, queue_arn: str, name: str) -> Observed | None:
        """Return the subscription of the queue to the topic; its ARN is the subscription's own."""
        with asking(_name(topic_arn), "sns"):
            pages = self._client.get_paginator("list_subscriptions_by_topic").paginate(TopicArn=topic_arn)
            for page in pages:
                for item in page.get("Subscriptions", []):
                    if (item["Protocol"], item["Endpoint"]) == ("sqs", queue_arn):
                        arn = item["SubscriptionArn"]
                        answer = self._client.get_subscription_attributes(SubscriptionArn=arn)
                        return Observed("subscription", name, arn, dict(answer["Attributes"]))
        return None

    def create(self, action: ResourceAction) -> None:
        """Create the topic or the subscription."""
        attributes, tags = action.list_written()
        with asking(_name(action.address), "sns"):
            if action.kind == "subscription":
                self._client.subscribe(
                    TopicArn=action.address,
                    Protocol=attributes["Protocol"],
                    Endpoint=attributes["Endpoint"],
                    Attributes={"RawMessageDelivery": attributes["RawMessageDelivery"]},
                    ReturnSubscriptionArn=True,
                )
                return
            given = {name: value for name, value in attributes.items() if value}
            self._client.create_topic(Name=action.resource, Attributes=given, Tags=_to_list(tags))

    def update(self, action: ResourceAction) -> None:
        """Write differences, one attribute per request: SNS allows no more."""
        attributes, tags = action.list_written()
        with asking(_name(action.address), "sns"):
            if tags:
                self._client.tag_resource(ResourceArn=action.address, Tags=_to_list(tags))
            for name, value in attributes.items():
                written = {"AttributeName": name, "AttributeValue": value}
                if action.kind == "subscription":
                    self._client.set_subscription_attributes(SubscriptionArn=action.address, **written)
                else:
                    self._client.set_topic_attributes(TopicArn=action.address, **written)

    def delete(self, action: ResourceAction) -> None:
        """Delete the topic with its subscriptions, or the subscription alone."""
        with asking(_name(action.address), "sns"):
            if action.kind == "subscription":
                self._client.unsubscribe(SubscriptionArn=action.address)
            else:
                self._client.delete_topic(TopicArn=action.address)


def _name(arn: str) -> Subject:
    return Subject(f"topic {arn}", "source.resources", "")


def _to_list(tags: dict[str, str]) -> list[dict[str, str]]:
    return [{"Key": name, "Value": value} for name, value in tags.items()]


def _last(arn: str) -> str:
    return arn.rsplit(":", 1)[-1]
