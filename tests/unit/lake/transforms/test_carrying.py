"""SQL of a step: which statements are taken, and where the column that tells a row's origin goes in."""

import pytest

from headwater.errors import TransformError
from headwater.lake.transforms.sql.carrying import carry_column, list_output_columns, parse_query

C = "`_headwater_source`"


@pytest.mark.parametrize(
    ("text", "carried"),
    [
        ("select id from input", f"select `input`.{C}, id from input"),
        ("select id from input; -- all of them", f"select `input`.{C}, id from input"),
        ("SELECT /*+ hint(l) */ id FROM input i", f"SELECT /*+ hint(l) */ `i`.{C}, id FROM input i"),
        ("select * from input where a > 1", "select * from input where a > 1"),
        ("select i.*, 1 as x from input i", "select i.*, 1 as x from input i"),
        (
            "select l.x from lookup l join input i on l.id = i.id",
            f"select `i`.{C}, l.x from lookup l join input i on l.id = i.id",
        ),
        (
            "with a as (select id from input), b as (select * from a) select id from b",
            f"with a as (select `input`.{C}, id from input), b as (select * from a) "
            f"select `b`.{C}, id from b",
        ),
        (
            "select id from (select id, rank() over (partition by id order by t) r from input) where r = 1",
            f"select {C}, id from (select `input`.{C}, id, rank() over (partition by id order by t) r "
            "from input) where r = 1",
        ),
        (
            "select (select max(x) from other) m, explode(a) e from input",
            f"select `input`.{C}, (select max(x) from other) m, explode(a) e from input",
        ),
        (
            "select a from input union all select b from input",
            f"select `input`.{C}, a from input union all select `input`.{C}, b from input",
        ),
        (
            "select sum(x) over (order by k) s from input",
            f"select `input`.{C}, sum(x) over (order by k) s from input",
        ),
        (f"select {C}, id from input", f"select {C}, id from input"),
    ],
)  # fmt: skip
def test_column_goes_in_after_each_select_and_nothing_else_changes(text, carried):
    assert carry_column(text, "_headwater_source") == carried


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("select count(*) from input", "COUNT(*) makes one row of several"),
        ("select k, max(x) from input group by k", "GROUP BY makes one row of several"),
        ("select distinct k from input", "DISTINCT makes one row of several"),
        ("select a from input union select b from input", "UNION makes one row of several equal ones"),
        ("select a from input union all select 1", "one side of the UNION does not read `input`"),
        ("select * from (select k, sum(x) s from input group by k)", "GROUP BY makes one row of several"),
        ("select a from other", "it does not read `input`"),
        ("with input as (select 1 as a) select a from input", "it does not read `input`"),
        ("select a from input; select b from input", "2 statements; it has to be one"),
        ("-- nothing", "there is no statement"),
        ("drop table input", "only a SELECT is allowed here"),
        ("insert into t select * from input", "only a SELECT is allowed here"),
        ("select a from where", "line 1, column 19"),
    ],
)
def test_statement_that_cannot_tell_where_its_rows_come_from_is_refused(text, said):
    with pytest.raises(TransformError) as raised:
        carry_column(text, "_headwater_source")
    assert said in raised.value.message
    assert raised.value.hint


def test_columns_that_come_out_are_known_unless_there_is_a_star():
    assert list_output_columns(parse_query("select ID, upper(n) as Name from input")) == ["id", "name"]
    assert list_output_columns(parse_query("select i.*, 1 as x from input i")) is None
