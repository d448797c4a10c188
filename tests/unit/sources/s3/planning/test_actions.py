"""Desired against observed: what is done, and what is refused."""

import pytest

from headwater.sources.finding import SetupFinding
from headwater.sources.provisioner import AttributeChange, ResourceAction
from headwater.sources.s3.planning.actions import Desired, Observed, plan_orphans, plan_removal, plan_resource
from headwater.sources.s3.planning.ownership import OWNER_TAG, Owner
from headwater.sources.s3.planning.wishes import AtLeast, Exactly

OWNER = Owner.of("s3a://lake/bronze", "acme", "in/")
STRANGER = Owner.of("s3a://other/bronze", "acme", "in/")
TAGS = OWNER.build_tags({"team": "data"})
ARN = "arn:aws:sqs:eu-west-1:1:q"
DESIRED = Desired("queue", "q", ARN, {"Delay": Exactly("0"), "Size": AtLeast(5, 9), "Key": Exactly("")}, TAGS)
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


def test_what_is_not_there_is_created_with_all_that_has_a_value() -> None:
    action = plan(None)
    assert (action.change, action.arn) == ("create", ARN)
    assert action.list_written() == ({"Delay": "0", "Size": "9"}, TAGS)


def test_what_is_as_it_should_be_is_left_alone_with_tags_of_others() -> None:
    assert plan(observe({**GOOD, "Other": "x"}, {**TAGS, "theirs": "x"})).change == "none"


def test_drift_is_told_attribute_by_attribute() -> None:
    action = plan(observe({"Delay": "5", "Size": "3", "Key": "k"}, {**TAGS, "team": "ops"}))
    assert action.change == "update"
    assert action.attributes == (
        AttributeChange("Delay", "5", "0"),
        AttributeChange("Size", "3", "9"),
        AttributeChange("Key", "k", ""),
        AttributeChange("tag team", "ops", "data"),
    )
    assert action.list_written() == ({"Delay": "0", "Size": "9", "Key": ""}, {"team": "data"})


def test_what_carries_no_tag_is_refused_with_every_way_out() -> None:
    finding = refuse({"team": "data"})
    assert "not headwater's" in finding.detail
    for way in ("source.resources.name", "source.queue.url", "--adopt"):
        assert way in finding.fix


def test_what_belongs_to_another_lake_is_refused_and_the_lake_named() -> None:
    assert "s3a://other/bronze" in refuse(STRANGER.build_tags({})).detail


@pytest.mark.parametrize("tags", [{}, STRANGER.build_tags({})])
def test_adopting_takes_over_and_says_so(tags: dict[str, str]) -> None:
    action = plan(observe(GOOD, tags), adopt=True)
    assert (action.change, action.note) == ("update", "ownership taken")
    assert action.list_written()[1][OWNER_TAG] == OWNER.id


def test_only_what_is_ours_is_removed() -> None:
    def remove(observed: Observed | None) -> str:
        return plan_removal(observed, "queue", "q", OWNER).change

    assert remove(observe(GOOD, TAGS)) == "delete"
    assert remove(observe(GOOD, {})) == "none"
    assert remove(observe(GOOD, STRANGER.build_tags({}))) == "none"
    assert remove(None) == "none"


def test_orphans_are_what_is_tagged_and_not_wanted() -> None:
    tagged = [("queue", "q", ARN), ("topic", "t", "arn:t")]
    [orphan] = plan_orphans(tagged, [ARN])  # type: ignore[arg-type]
    assert (orphan.kind, orphan.resource, orphan.change, orphan.orphan) == ("topic", "t", "delete", True)


def test_the_same_lake_is_one_owner_however_it_ends() -> None:
    assert Owner.of("s3a://lake/bronze/", "b").id == Owner.of("s3a://lake/bronze", "c").id
    assert OWNER.id != STRANGER.id


def test_tags_hold_what_aws_takes() -> None:
    tags = Owner.of("s3a://lake/ä?#" + "x" * 300, "acme", "a&b/").build_tags({})
    assert all(len(value) <= 256 for value in tags.values())
    assert not any(set("?#&") & set(value) for value in tags.values())
