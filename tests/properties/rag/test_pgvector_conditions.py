"""PostgreSQL evaluates conditions as `satisfies` does, and returns every text as it was written."""

from typing import Any

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg import sql

from headwater.rag.vector_stores.conditions import satisfies
from headwater.rag.vector_stores.pgvector.plain_text import (
    escape_text,
    parse_fields,
    unescape_text,
    write_fields,
)
from headwater.rag.vector_stores.pgvector.predicates import build_predicate
from headwater.rag.vector_stores.protocol import IndexCondition
from tests.fixtures.search.stores import find_postgres

NAMES = ["color", "price", "tags", "tenant", "a.b", "q\"uo'te", "nul\x00", "%s"]
# Few of each kind, so that conditions match; and what JSON or PostgreSQL treats specially.
TEXTS = st.sampled_from(["red", "", "1", "true", "nul\x00", "\ue000", "é", "%", "'", '"', "\ud800"])
NUMBERS = st.sampled_from([0, 1, 1.0, -2.5, 0.1, 10, 2**62, 1e300, 5e-324])
VALUES = st.one_of(TEXTS, NUMBERS, st.booleans())
FIELDS = st.dictionaries(st.sampled_from(NAMES), st.one_of(VALUES, st.none(), st.lists(TEXTS, max_size=3)))
LIMITS = st.one_of(VALUES, st.sampled_from([float("inf"), float("-inf"), float("nan")]))
CONDITIONS = st.one_of(
    st.builds(IndexCondition, st.sampled_from(NAMES), st.sampled_from(["lt", "lte", "gt", "gte"]), LIMITS),
    st.builds(IndexCondition, st.sampled_from(NAMES), st.sampled_from(["eq", "ne"]), LIMITS),
    st.builds(
        IndexCondition,
        st.sampled_from(NAMES),
        st.sampled_from(["in", "not_in"]),
        st.lists(LIMITS, max_size=3),
    ),
)
SELECT = """
select {predicate}, fields::text, tenant
from (select %(fields)s::jsonb as fields, %(tenant)s::text as tenant) point
"""


@pytest.fixture(scope="module")
def connection():
    with psycopg.connect(find_postgres().url, autocommit=True) as opened:
        yield opened


@given(
    conditions=st.lists(CONDITIONS, min_size=1, max_size=3), fields=FIELDS, tenant=st.one_of(st.none(), TEXTS)
)
def test_conditions_have_the_results_of_every_store(
    connection: psycopg.Connection[Any], conditions: list[IndexCondition], fields: Any, tenant: str | None
) -> None:
    predicate = build_predicate(conditions)
    assert predicate is not None
    row = connection.execute(
        sql.SQL(SELECT).format(predicate=sql.SQL(predicate.text)),
        {
            **predicate.parameters,
            "fields": write_fields(fields),
            "tenant": None if tenant is None else escape_text(tenant),
        },
    ).fetchone()
    assert row is not None
    # Null selects a row no more than false does.
    assert (row[0] is True) is satisfies(conditions, fields, tenant)
    assert parse_fields(row[1]) == {name: value for name, value in fields.items() if value is not None}
    assert (None if row[2] is None else unescape_text(row[2])) == tenant


@given(text=st.text(st.characters(exclude_categories=())))
def test_every_text_is_stored_and_returned(connection: psycopg.Connection[Any], text: str) -> None:
    row = connection.execute("select %s::text", [escape_text(text)]).fetchone()
    assert row is not None
    assert unescape_text(row[0]) == text
