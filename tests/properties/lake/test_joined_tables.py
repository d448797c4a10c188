"""Statements over several tables that pass the check make each group of its own rows: tried with SQLite.

The statements are random. Each accepted one runs on all rows and on the rows of some groups, and the rows of
these groups have to be the same. The unit tests list statements that have to pass.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing

import pytest
import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.errors import TransformError
from headwater.lake.transforms.sql.joined_tables import GroupColumns, find_group_columns

Row = tuple[int | None, int | None, int | None]
Tables = Mapping[str, Sequence[Row]]

COLUMNS = ("k", "x", "y")
values = st.sampled_from([None, 0, 1])
rows = st.lists(st.tuples(values, values, values), min_size=1, max_size=6)
tables = st.fixed_dictionaries({"a": rows, "b": rows})
some_groups = st.sets(values, min_size=1, max_size=2)

# Most statements use one column throughout, so that many of them pass.
names = st.sampled_from(["k"] * 8 + ["x", "y"])
kinds = st.sampled_from(["join", "left join", "right join", "full join"])


@st.composite
def sources(draw: st.DrawFn, table: str, alias: str, depth: int) -> str:
    """A table, or a query over it that keeps, renames or aggregates its columns."""
    if depth == 0 or draw(st.booleans()):
        return f"{table} {alias}"
    key, other = draw(names), draw(names)
    shape = draw(st.sampled_from(["rename", "group", "window", "filter"]))
    if shape == "rename":
        query = f"select {key} as k, {other} as x, y from {table}"
    elif shape == "group":
        query = (
            f"select {key} as k, count(*) as x, max({other}) as y from {table} group by {table}.{draw(names)}"
        )
    elif shape == "window":
        query = f"select k, x, count(*) over (partition by {key}) as y from {table}"
    else:
        query = f"select * from {table} where {key} > 0"
    return f"({query}) {alias}"


@st.composite
def joins(draw: st.DrawFn, left: str, right: str) -> str:
    """FROM with two or three tables, one of which may be read twice."""
    text = f"from {draw(sources(left, 'l', 1))}"
    for number, table in enumerate([right, *draw(st.lists(st.sampled_from([left, right]), max_size=1))]):
        kind, alias = draw(kinds), f"r{number}"
        before = draw(st.sampled_from(["l", *(f"r{at}" for at in range(number))]))
        more = draw(
            st.sampled_from(["", "", f"and {alias}.x = l.x", f"and l.y > {alias}.y", f"or l.x = {alias}.y"])
        )
        source, left_key, right_key = draw(sources(table, alias, 1)), draw(names), draw(names)
        text += f" {kind} {source} on {before}.{left_key} = {alias}.{right_key} {more}"
    return text


@st.composite
def keys(draw: st.DrawFn) -> str:
    one, other = draw(st.permutations(["l", "r0"]))
    column, same = draw(names), draw(names)
    return draw(st.sampled_from([f"{one}.{column}", f"coalesce({one}.{column}, {other}.{same})"]))


@st.composite
def statements(draw: st.DrawFn) -> str:
    """A SELECT whose column `g` may be a group column."""
    left, right = draw(st.permutations(["a", "b"]))
    from_, key = draw(joins(left, right)), draw(keys())
    shape = draw(st.sampled_from(["rows", "group", "window", "distinct"]))
    if shape == "group":
        by = draw(st.sampled_from([key, key, "1", f"{key}, l.x", "l.x"]))
        return f"select {key} as g, count(*) as n, sum(r0.y) as s {from_} group by {by}"
    if shape == "window":
        return f"select {key} as g, l.x as n, count(*) over (partition by {draw(keys())}) as s {from_}"
    distinct = "distinct " if shape == "distinct" else ""
    return f"select {distinct}{key} as g, l.x as n, r0.y as s {from_} where l.x is null or l.x < 1"


@st.composite
def unions(draw: st.DrawFn) -> str:
    """A UNION whose sides have the group column at one position, possibly under other names."""
    one, other = draw(names), draw(names)
    right = draw(st.permutations([f"{other} as h", "y as g", "2 as s"]))
    kind = draw(st.sampled_from(["union all", "union", "except", "intersect"]))
    return f"select {one} as g, x as n, 1 as s from a {kind} select {', '.join(right)} from b"


def run(statement: str, given: Tables) -> list[Row]:
    with closing(sqlite3.connect(":memory:")) as connection:
        for name, its_rows in given.items():
            connection.execute(f"create table {name} (k, x, y)")
            connection.executemany(f"insert into {name} values (?, ?, ?)", its_rows)
        text = sqlglot.transpile(statement, read="spark", write="sqlite")[0]
        return sorted(connection.execute(text).fetchall(), key=repr)


def restrict(given: Tables, columns: GroupColumns, groups: set[int | None]) -> Tables:
    positions = {name: COLUMNS.index(of_table[0]) for name, of_table in columns.items()}
    return {name: [row for row in given[name] if row[positions[name]] in groups] for name in given}


@settings(max_examples=max(500, settings().max_examples))
@given(st.one_of(statements(), statements(), unions()), tables, some_groups)
def test_an_accepted_statement_makes_each_group_of_its_own_rows(
    statement: str, given_tables: Tables, groups: set[int | None]
) -> None:
    try:
        columns = find_group_columns(statement, ["a", "b"], ["g"])
    except TransformError:
        return
    of_groups = [row for row in run(statement, given_tables) if row[0] in groups]
    assert run(statement, restrict(given_tables, columns, groups)) == of_groups


@settings(max_examples=300)
@given(
    kinds,
    st.sampled_from(["l.x", "r.k", "coalesce(l.x, r.k)", "coalesce(r.k, l.x)"]),
    tables,
    some_groups,
)
def test_a_join_passes_with_a_group_column_that_is_never_null(
    kind: str, key: str, given_tables: Tables, groups: set[int | None]
) -> None:
    statement = f"select {key} as g, l.y as n, r.y as s from a l {kind} b r on l.x = r.k"
    null_side = {"left join": "r.k", "right join": "l.x"}.get(kind)
    if key == null_side or (kind == "full join" and "coalesce" not in key):
        with pytest.raises(TransformError, match="an outer join makes"):
            find_group_columns(statement, ["a", "b"], ["g"])
        return
    columns = find_group_columns(statement, ["a", "b"], ["g"])
    assert columns == {"a": ("x",), "b": ("k",)}
    of_groups = [row for row in run(statement, given_tables) if row[0] in groups]
    assert run(statement, restrict(given_tables, columns, groups)) == of_groups
