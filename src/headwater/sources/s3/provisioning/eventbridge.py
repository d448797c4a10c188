"""The rule that sends a bucket's events from EventBridge's default bus to the queue."""

from typing import Any

from botocore.exceptions import ClientError

from headwater.errors import SourceError
from headwater.sources.planning.actions import Observed
from headwater.sources.provisioner import ResourceAction
from headwater.sources.s3.aws import asking, error_code
from headwater.sources.subject import Subject

TARGET_ID = "headwater"


class RuleResources:
    """A rule with the queue as its target."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def read(self, arn: str) -> Observed | None:
        """Return the rule and its target; None if there is none."""
        name = _last(arn)
        with asking(_name(name), "events"):
            try:
                rule = self._client.describe_rule(Name=name)
            except ClientError as error:
                if error_code(error) == "ResourceNotFoundException":
                    return None
                raise
            targets = self._client.list_targets_by_rule(Rule=name).get("Targets", [])
            found = self._client.list_tags_for_resource(ResourceARN=rule["Arn"]).get("Tags", [])
        attributes = {
            "EventPattern": str(rule.get("EventPattern", "")),
            "State": str(rule.get("State", "")),
            "Target": next((str(item["Arn"]) for item in targets if item["Id"] == TARGET_ID), ""),
        }
        return Observed("rule", name, rule["Arn"], attributes, {tag["Key"]: tag["Value"] for tag in found})

    def create(self, action: ResourceAction) -> None:
        """Create rule and target."""
        attributes, tags = action.list_written()
        with asking(_name(action.resource), "events"):
            self._client.put_rule(
                Name=action.resource,
                EventPattern=attributes["EventPattern"],
                State=attributes["State"],
                Description="Sends the events of a bucket to headwater's queue.",
                Tags=[{"Key": name, "Value": value} for name, value in tags.items()],
            )
            self._put_target(action.resource, attributes["Target"])

    def update(self, action: ResourceAction) -> None:
        """Write differences; a rule's pattern and state can only be written together."""
        attributes, tags = action.list_written()
        name = action.resource
        with asking(_name(name), "events"):
            if tags:
                listed = [{"Key": key, "Value": value} for key, value in tags.items()]
                self._client.tag_resource(ResourceARN=action.address, Tags=listed)
            if attributes.keys() & {"EventPattern", "State"}:
                rule = self._client.describe_rule(Name=name)
                self._client.put_rule(
                    Name=name,
                    EventPattern=attributes.get("EventPattern", rule.get("EventPattern", "")),
                    State=attributes.get("State", rule["State"]),
                    Description=rule.get("Description", ""),
                )
            if "Target" in attributes:
                self._put_target(name, attributes["Target"])

    def delete(self, action: ResourceAction) -> None:
        """Delete the rule with its targets."""
        name = _last(action.address)
        with asking(_name(name), "events"):
            targets = self._client.list_targets_by_rule(Rule=name).get("Targets", [])
            if targets:
                self._client.remove_targets(Rule=name, Ids=[item["Id"] for item in targets])
            self._client.delete_rule(Name=name)

    def _put_target(self, rule: str, queue_arn: str) -> None:
        answer = self._client.put_targets(Rule=rule, Targets=[{"Id": TARGET_ID, "Arn": queue_arn}])
        if answer.get("FailedEntryCount"):
            failed = answer["FailedEntries"][0]
            raise SourceError(
                f"rule {rule} rejected the queue as its target: {failed.get('ErrorMessage', failed)}",
                hint="the queue must be in the region and the account of the rule",
            )


def _name(rule: str) -> Subject:
    return Subject(f"EventBridge rule {rule}", "source.resources", "")


def _last(arn: str) -> str:
    return arn.rsplit("/", 1)[-1]
