"""The look of the page: which columns it can show, and the questions that it offers."""

import json

import pytest

from headwater.config.loader import load_settings
from headwater.config.search import SearchConfig
from headwater.errors import ConfigError, SearchError
from headwater.rag.index_rules import IndexRules

TEXT = {"title": 3, "description": 1}


def build(page, **other):
    return SearchConfig.model_validate({"table": "products", "text": TEXT, "page": page, **other})


def test_without_a_section_nothing_is_configured():
    page = SearchConfig(table="products", text=TEXT).page
    assert (page.title, page.facts, page.sort, page.examples, list(page.iter_columns())) == (
        None,
        None,
        (),
        (),
        [],
    )


def test_columns_are_named_with_their_keys():
    page = build({"title": "name", "image": "picture", "facts": "brand, color", "sort": ["rating"]}).page
    assert list(page.iter_columns()) == [
        ("title", "name"),
        ("image", "picture"),
        ("facts", "brand"),
        ("facts", "color"),
        ("sort", "rating"),
    ]


def test_the_title_of_the_page_is_that_of_answers():
    assert build({}).title_columns == ["title", "description"]
    assert build({"title": "name"}).title_columns == ["name", "title", "description"]


def test_a_question_may_have_commas():
    assert build({"examples": "a mug, steel"}).page.examples == ("a mug, steel",)


@pytest.mark.parametrize(
    ("page", "fields", "where", "message"),
    [
        ({"link": "url"}, ["price"], "link", "'url' is not one of `search.fields`; add it there"),
        ({"sort": ["price", "rank"]}, ["price"], "sort", "'rank' is not one of `search.fields`"),
        ({"facts": ["description"]}, [], "facts", "'description' is a column of `search.text`; list it in"),
        ({"title": "description"}, [], "title", "'description' is a column of `search.text`"),
        ({"examples": [" "]}, [], "examples", "a question has 1 to 512 characters"),
        ({"examples": ["x" * 513]}, [], "examples", "a question has 1 to 512 characters"),
        ({"examples": ["x"] * 13}, [], "examples", "13 questions; the limit is 12"),
    ],
)
def test_a_column_that_the_index_does_not_have_is_an_error(tmp_path, page, fields, where, message):
    file = tmp_path / "headwater.yaml"
    search = {"table": "products", "text": TEXT, "page": page, "fields": fields}
    source = {"type": "local", "path": "landing"}
    settings = {
        "source": source,
        "lake": "lake",
        "tables": {"products": {"path": "*.json"}},
        "search": search,
    }
    file.write_text(json.dumps(settings))
    with pytest.raises(ConfigError) as raised:
        load_settings(file, {})
    assert f"search.page.{where}: " in str(raised.value)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("page", "fields"),
    [
        ({"title": "title"}, []),
        ({"title": "title"}, ["price"]),
        ({"title": "description"}, ["description"]),
        ({"image": "media.url"}, ["media"]),
        ({"image": "media.url"}, []),
    ],
)
def test_columns_of_the_index_can_be_shown(page, fields):
    assert build(page, fields=fields).page.model_dump(exclude_defaults=True) == page


def test_a_column_that_the_table_does_not_have_is_named():
    rules = IndexRules(build({"image": "picture", "sort": ["rank"]}), ("id",), False, "removed_at")
    rules.check_columns(["id", "title", "description", "picture", "rank"])
    with pytest.raises(SearchError) as raised:
        rules.check_columns(["id", "title", "description", "picture_url"])
    assert "search.page.image: no column 'picture'; search.page.sort: no column 'rank'" in str(raised.value)


def test_the_look_changes_neither_texts_nor_fields():
    # Otherwise a new example would have every row read again.
    plain = IndexRules(build({}), ("id",), False, "removed_at")
    looks = IndexRules(build({"image": "picture", "examples": ["mug"]}), ("id",), False, "removed_at")
    assert looks.build_selection() == plain.build_selection()
    assert looks.build_fingerprint("model") == plain.build_fingerprint("model")
