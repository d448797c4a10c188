"""Tags that AWS accepts."""

from headwater.sources.s3.planning.ownership import build_owner


def test_tags_are_valid_for_aws() -> None:
    tags = build_owner("s3a://lake/ä?#" + "x" * 300, "acme", "a&b/").build_tags({})
    assert all(len(value) <= 256 for value in tags.values())
    assert not any(set("?#&") & set(value) for value in tags.values())
    assert tags["headwater:source"] == "s3://acme/a_b/"


def test_resources_of_the_other_sources_of_a_lake_are_no_orphans() -> None:
    east = build_owner("s3a://lake", "acme", "east/", [("acme", "west/")])
    west = build_owner("s3a://lake", "acme", "west/", [("acme", "east/")])
    former = build_owner("s3a://lake", "acme", "north/")
    other = build_owner("s3a://other", "acme", "north/")
    rules = (east.rule_id, west.rule_id, former.rule_id, other.rule_id, "thumbnails")
    assert [rule for rule in rules if east.is_former_rule(rule)] == [former.rule_id]
    owners = (east, west, former, other)
    assert [owner for owner in owners if east.is_orphan_candidate(owner.build_tags({}))] == [east, former]
