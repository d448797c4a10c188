"""Which statements tell the origin of each row, or make the rows of each group of its rows alone."""

import pytest

from headwater.errors import TransformError
from headwater.lake.transforms.sql.carried_columns import check_group_wise, check_origin, check_row_wise

S = "_headwater_source"


@pytest.mark.parametrize(
    "text",
    [
        "select * from input where a > 1",
        "select i.*, 1 as x from input i",
        f"select {S}, id from input; -- all of them",
        f"select `{S.upper()}`, id from input",
        f"SELECT /*+ hint(l) */ {S}, id FROM input i",
        f"select i.{S}, l.x from lookup l join input i on l.id = i.id",
        f"with a as (select {S}, id from input), b as (select * from a) select {S}, id from b",
        f"select {S}, (select max(x) from other) m, explode(a) e from input",
        f"select {S}, a from input union all select {S}, b from input",
        f"select distinct {S}, word from input lateral view explode(words) as word",
        f"select {S}, count(*) as words from input group by {S}",
        f"select i.{S}, n from input i join (select c, count(*) n from codes group by c) c on i.c = c.c",
    ],
)
def test_statement_that_selects_the_origin_of_each_row_is_let_through(text: str) -> None:
    check_origin(text, S)
    check_row_wise(text, S)


@pytest.mark.parametrize(
    "text",
    [
        f"select {S}, id from (select *, rank() over (partition by id order by t) r from input) where r = 1",
        f"select {S}, sum(x) over (order by k) s from input limit 3",
        f"select a.{S}, b.id from input a join input b on a.id = b.parent",
        f"select i.{S}, l.x from input i full join lookup l on l.id = i.id",
        f"select i.{S}, l.x from lookup l left join input i on l.id = i.id",
    ],
)
def test_statement_over_several_rows_requires_complete_batches(text: str) -> None:
    check_origin(text, S)
    with pytest.raises(TransformError, match="SQL: ") as raised:
        check_row_wise(text, S)
    assert "`refresh: full`" in str(raised.value.hint)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("select id from input", f"must contain `{S}` unchanged: write SELECT {S}, id, or SELECT *"),
        ("select a, upper(b) as b, c, d from input", f"SELECT {S}, a, UPPER(b) AS b, c, ..., or"),
        ("select l.x from lookup l join input i on l.id = i.id", f"write SELECT i.{S}, l.x, or"),
        ("with a as (select id from input) select * from a", f"write SELECT {S}, id, or"),
        (f"select {S}, a from input union all select b from input", f"write SELECT {S}, b, or"),
        (f"select id as {S}, a from input", f"write SELECT {S}, a, or"),
        (f"select l.{S}, i.a from lookup l join input i on l.id = i.id", f"write SELECT i.{S}, i.a, or"),
        ("select count(*) from input", f"COUNT(*) without GROUP BY {S} combines all rows"),
        (f"select max({S}) as {S} from input", f"MAX({S}) without GROUP BY"),
        ("select k, max(x) from input group by k", f"combines rows with different `{S}`"),
        ("select * from (select k, sum(x) s from input group by k)", "GROUP BY k combines rows"),
        ("select distinct k from input", "DISTINCT combines rows"),
        (f"select {S}, a from input union all select 0, 1", "only a UNION whose parts all read"),
        (f"select {S} from input except select {S} from other", "only a UNION whose parts"),
        ("select a from other", "its rows do not come from `input`"),
        ("with input as (select 1 as a) select a from input", "its rows do not come from `input`"),
        ("drop table input", "only a SELECT is allowed here"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("check", [check_origin, check_row_wise])
def test_statement_without_row_origin_is_rejected_with_the_required_select(check, text, said) -> None:
    with pytest.raises(TransformError) as raised:
        check(text, S)
    assert said in raised.value.message
    assert raised.value.hint


@pytest.mark.parametrize(
    "text",
    [
        f"select {S}, a from o where a > (select avg(a) from input) union all select {S}, a from o",
        f"select {S}, a, (select max(a) from input) from o union all select {S}, a, 1 from o",
        f"select o.{S}, o.a from o join t on o.a = t.a and exists (select 1 from input) "
        f"union all select {S}, a from o",
    ],
)
def test_expression_over_all_rows_is_no_source_of_rows(text: str) -> None:
    statement = f"with o as (select * from input) {text}"
    check_origin(statement, S)
    with pytest.raises(TransformError, match="reads `input` in a subquery of an expression"):
        check_row_wise(statement, S)


def test_origin_of_another_row_is_refused() -> None:
    with pytest.raises(TransformError, match="must contain `_headwater_source` unchanged"):
        check_origin(f"select first({S}) over (order by a) as {S}, a from input", S)


@pytest.mark.parametrize(
    "text",
    [
        "select city, count(*) as n from input group by city",
        "select City, count(*) as n from INPUT group by CITY",
        "select city, day, sum(total) as total from input group by 1, 2",
        "select city, count(*) as n from input group by all",
        "select i.city, sum(i.total) as total from input i where i.paid group by i.city having sum(i.a) > 1",
        "select * from input",
        "select distinct city, name from input",
        "select *, row_number() over (partition by city order by at desc) as n from input",
        "with big as (select * from input where a > 1) select city, max(a) as m from big group by city",
        "select city, max(n) as m from (select city, count(*) as n from input group by a, city) group by 1",
        "select city, total from input where paid union all select city, -total from input where not paid",
        "select i.city, sum(i.a * r.b) as t from input i left join rates r on i.c = r.c group by i.city",
        "select i.city, o.a from other o join input i on o.id = i.id",
        "select city, count(*) / (select max(n) from limits) as share from input group by city",
    ],
)
def test_groups_that_depend_on_their_own_rows_are_let_through(text: str) -> None:
    check_group_wise(text, ["city"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("select count(*) as n from input", "without GROUP BY city"),
        ("select 'all' as city, a from input", "must contain `city` unchanged"),
        (
            "select upper(city) as city, count(*) as n from input group by upper(city)",
            "GROUP BY UPPER(city) combines rows",
        ),
        ("select city as town, count(*) as n from input group by city", "must contain `city` unchanged"),
        ("select * except (city) from input", "must contain `city` unchanged"),
        ("select r.city, i.n from input i join r on i.a = r.a", "must contain `city` unchanged"),
        ("select any_value(city) as city, day from input group by day", "with different `city`"),
        ("select city, count(*) as n from input", "without GROUP BY city"),
        ("select day, city from input group by day", "GROUP BY day combines rows"),
        (
            "select city, n from (select first(city) as city, count(*) as n from input group by day)",
            "GROUP BY day combines rows",
        ),
        ("select city, count(*) as n from input group by city with rollup", "ROLLUP"),
        ("select city, day, count(*) as n from input group by cube (city, day)", "ROLLUP, CUBE"),
        ("select city, total / sum(total) over () as share from input", "add PARTITION BY city"),
        ("select city, rank() over (order by total) as r from input", "add PARTITION BY city"),
        ("select city, sum(count(*)) over () as all from input group by city", "add PARTITION BY city"),
        ("select city from input order by total limit 3", "LIMIT"),
        ("select city from input tablesample (10 percent)", "TABLESAMPLE"),
        ("select a.city from input a join input b on a.id = b.parent", "several times"),
        ("select city from input where total > (select avg(total) from input)", "several times"),
        ("select city from input except select city from gone", "UNION"),
        ("select city from input union all select city from other", "UNION"),
        ("select i.city from other o left join input i on o.id = i.id", "outer join"),
        ("select i.city from input i full join other o on o.id = i.id", "outer join"),
        ("select city from other", "do not come from `input`"),
        ("select city from other where city in (select city from input)", "do not come from `input`"),
        ("select city, cuont( from input", "SQL"),
    ],
)
def test_others_are_refused_and_say_why(text: str, said: str) -> None:
    with pytest.raises(TransformError) as raised:
        check_group_wise(text, ["city"])
    assert said in raised.value.message


def test_each_column_of_the_key_counts() -> None:
    text = "select city, day, count(*) as n from input group by city, day"
    check_group_wise(text, ["city", "day"])
    with pytest.raises(TransformError, match="different `shop`"):
        check_group_wise(text, ["city", "shop"])
