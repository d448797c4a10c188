"""Tags that AWS accepts."""

from headwater.sources.s3.planning.ownership import build_owner


def test_tags_are_valid_for_aws() -> None:
    tags = build_owner("s3a://lake/ä?#" + "x" * 300, "acme", "a&b/").build_tags({})
    assert all(len(value) <= 256 for value in tags.values())
    assert not any(set("?#&") & set(value) for value in tags.values())
    assert tags["headwater:source"] == "s3://acme/a_b/"
