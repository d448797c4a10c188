"""`source.clean_source`: what may be combined, told before anything starts."""

from pathlib import Path

import pytest

from headwater.config.loader import parse_settings
from headwater.config.settings import Settings
from headwater.errors import ConfigError

PATH = Path("/nowhere/headwater.yaml")
REST = "\ntables: {t: {path: '*.json'}}\n"


def parse_s3(options: str, *, prefix: str = "in/", lake: str = "s3a://acme-lake/bronze") -> Settings:
    source = f"source: {{type: s3, bucket: acme, prefix: '{prefix}', {options}}}\nlake: {lake}"
    return parse_settings(source + REST, PATH, environ={})


def parse_local(options: str) -> Settings:
    return parse_settings(
        f"source: {{type: local, path: landing, {options}}}\nlake: lake{REST}", PATH, environ={}
    )


def find_problem(
    text: str, *, local: bool = False, prefix: str = "in/", lake: str = "s3a://acme-lake/bronze"
) -> str:
    with pytest.raises(ConfigError) as caught:
        _ = parse_local(text) if local else parse_s3(text, prefix=prefix, lake=lake)
    assert caught.value.exit_code == 2
    return caught.value.message


@pytest.mark.parametrize("text", ["clean_source: off", "clean_source: false", "region: x"])
def test_nothing_is_cleaned_unless_asked_for(text: str) -> None:
    assert parse_s3(text).sources[0].clean_source == "off"


def test_objects_are_kept_for_thirty_days_by_default() -> None:
    assert parse_s3("clean_source: delete").sources[0].clean_source_delay == 30 * 86_400
    assert (
        parse_s3("clean_source: delete, clean_source_delay: 7d").sources[0].clean_source_delay == 7 * 86_400
    )
    assert parse_s3("clean_source: tag, clean_source_delay: 0").sources[0].clean_source_delay == 0


@pytest.mark.parametrize("action", ["delete", "move"])
def test_a_delay_of_minutes_is_too_short_to_take_objects_away(action: str) -> None:
    move = ", clean_source_move_to: s3://archive/x" if action == "move" else ""
    problem = find_problem(f"clean_source: {action}, clean_source_delay: 10 minutes{move}")
    assert "source.clean_source_delay" in problem
    assert "1 hour or more" in problem


def test_move_requires_its_target() -> None:
    assert "clean_source_move_to: missing" in find_problem("clean_source: move")
    assert "not applicable" in find_problem("clean_source: delete, clean_source_move_to: s3://archive/x")


@pytest.mark.parametrize(
    ("given", "target"),
    [("s3://archive", "archive/"), ("s3://archive/", "archive/"), ("s3://archive/a/b", "archive/a/b/")],
)
def test_target_is_a_bucket_with_a_folder(given: str, target: str) -> None:
    source = parse_s3(f"clean_source: move, clean_source_move_to: '{given}'").sources[0]
    assert source.type == "s3"
    assert source.clean_source_target == target


@pytest.mark.parametrize(
    ("prefix", "place", "is_inside"),
    [
        ("", "s3://acme/done", True),
        ("in/", "s3://acme/in/done", True),
        ("in/", "s3://acme", True),
        ("in", "s3://acme/inside", True),
        ("in/", "s3://acme/done", False),
        ("in/", "s3://acme/inside", False),
        ("", "s3://archive", False),
    ],
)
def test_objects_are_not_moved_to_where_they_are_taken_from(prefix: str, place: str, is_inside: bool) -> None:
    text = f"clean_source: move, clean_source_move_to: '{place}'"
    if is_inside:
        assert "is inside the source" in find_problem(text, prefix=prefix)
    else:
        parse_s3(text, prefix=prefix)


def test_objects_are_not_moved_into_the_lake() -> None:
    text = "clean_source: move, clean_source_move_to: 's3://acme-lake/bronze/done'"
    assert "is inside the lake" in find_problem(text)
    parse_s3(text.replace("bronze/done", "bronze-done"))


@pytest.mark.parametrize(
    "tags", ["{}", "{'aws:x': y}", str({f"t{at}": "x" for at in range(11)}), "{a: '" + "x" * 257 + "'}"]
)
def test_tags_that_s3_refuses_are_refused_here(tags: str) -> None:
    assert "one to ten tags" in find_problem(f"clean_source: tag, clean_source_tags: {tags}")


def test_target_that_is_no_bucket_is_rejected() -> None:
    assert "clean_source_move_to" in find_problem("clean_source: move, clean_source_move_to: /archive")


def test_files_have_no_tags() -> None:
    assert "'tag' is not supported: files have no tags. Allowed: off, move, delete" in find_problem(
        "clean_source: tag", local=True
    )


def test_a_folder_is_not_moved_into_itself() -> None:
    text = "clean_source: move, clean_source_move_to: "
    assert "is inside the source" in find_problem(text + "landing/done", local=True)
    assert "is inside the lake" in find_problem(text + "lake/done", local=True)
    assert str(parse_local(text + "done").sources[0].clean_source_move_to) == "/nowhere/done"
