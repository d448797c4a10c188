"""Desired against observed: what is done, and what is refused."""

import re
from dataclasses import replace

import pytest

from headwater.sources.finding import SetupFinding
from headwater.sources.planning.actions import Desired, Observed, plan_orphans, plan_removal, plan_resource
from headwater.sources.planning.desired_values import AtLeast, Exactly
from headwater.sources.planning.ownership import Owner, TagStyle
from headwater.sources.provisioner import AttributeChange, ResourceAction

STYLE = TagStyle("tag", "owner", "lake", "source", re.compile(r"[^\w:/]"), 20)
OWNER = Owner.of("s3a://lake/bronze", "s3://acme/in/", STYLE)
STRANGER = Owner.of("s3a://other", "s3://acme/in/", STYLE)
TAGS = OWNER.build_tags({"team": "data"})
ARN = "arn:aws:sqs:eu-west-1:1:q"
DESIRED = Desired(
    "queue",
    "q",
    ARN,
    {"Delay": Exactly("0"), "Size": AtLeast(5, 9), "Key": Exactly("")},
    TAGS,
    "set another name",
)
GOOD = {"Delay": "0", "Size": "7"}


def observe(attributes: dict[str, str], tags: dict[str, str]) -> Observed:
    return Observed("queue", "q", ARN, attributes, tags)


def plan(observed: Observed | None, *, adopt: bool = False) -> ResourceAction:
    outcome = plan_resource(DESIRED, observed, OWNER, adopt=adopt)
    assert isinstance(outcome, ResourceAction)
    return outcome


def refuse(tags: dict[str, str]) -> SetupFinding:
    outcome = plan_resource(DESIRED, observe(GOOD, tags), OWNER)
    assert isinstance(outcome, SetupFinding)
    assert outcome.status == "problem"
    return outcome


def test_missing_resources_are_created_with_all_attributes() -> None:
    action = plan(None)
    assert (action.change, action.address) == ("create", ARN)
    assert action.list_written() == ({"Delay": "0", "Size": "9"}, TAGS)


def test_matching_resources_and_external_tags_are_unchanged() -> None:
    assert plan(observe({**GOOD, "Other": "x"}, {**TAGS, "theirs": "x"})).change == "none"


def test_drift_is_reported_by_attribute() -> None:
    action = plan(observe({"Delay": "5", "Size": "3", "Key": "k"}, {**TAGS, "team": "ops"}))
    assert action.change == "update"
    assert action.attributes == (
        AttributeChange("Delay", "5", "0"),
        AttributeChange("Size", "3", "9"),
        AttributeChange("Key", "k", ""),
        AttributeChange("tag team", "ops", "data"),
    )
    assert action.list_written() == ({"Delay": "0", "Size": "9", "Key": ""}, {"team": "data"})


def test_untagged_resource_is_rejected_with_all_options() -> None:
    finding = refuse({"team": "data"})
    assert "not headwater's" in finding.detail
    for way in ("set another name", "--adopt"):
        assert way in finding.fix


def test_resource_of_another_lake_is_rejected_with_its_name() -> None:
    assert "s3a://other" in refuse(STRANGER.build_tags({})).detail


@pytest.mark.parametrize("tags", [{}, STRANGER.build_tags({})])
def test_adopting_takes_over_and_says_so(tags: dict[str, str]) -> None:
    action = plan(observe(GOOD, tags), adopt=True)
    assert (action.change, action.note) == ("update", "ownership taken")
    assert action.list_written()[1]["owner"] == OWNER.id


def test_only_own_resources_are_removed() -> None:
    def remove(observed: Observed | None) -> str:
        return plan_removal(observed, "queue", "q", OWNER).change

    assert remove(observe(GOOD, TAGS)) == "delete"
    assert remove(observe(GOOD, {})) == "none"
    assert remove(observe(GOOD, STRANGER.build_tags({}))) == "none"
    assert remove(None) == "none"


def test_orphans_are_tagged_but_not_desired() -> None:
    tagged = [("queue", "q", ARN), ("topic", "t", "arn:t")]
    [orphan] = plan_orphans(tagged, [ARN])  # type: ignore[arg-type]
    assert (orphan.kind, orphan.resource, orphan.change, orphan.orphan) == ("topic", "t", "delete", True)


def test_the_same_lake_is_one_owner_however_it_ends() -> None:
    assert Owner.of("s3a://lake/bronze/", "b", STYLE).id == Owner.of("s3a://lake/bronze", "c", STYLE).id
    assert OWNER.id != STRANGER.id


def test_tags_are_valid_for_the_vendor() -> None:
    lake = "S3A://lake/ä?#" + "x" * 300
    assert Owner.of(lake, "s3://b/a&b/", STYLE).build_tags({})["lake"] == "S3A://lake/ä__" + "x" * 6
    lower = replace(STYLE, word="label", has_capitals=False)
    labeled = Owner.of(lake, "s3://b/", lower)
    assert labeled.build_tags({})["lake"] == "s3a://lake/ä__" + "x" * 6
    action = plan_resource(DESIRED, None, labeled)
    assert isinstance(action, ResourceAction)
    assert {change.name for change in action.attributes} >= {"label owner", "label team"}
    assert action.list_written()[1] == TAGS
