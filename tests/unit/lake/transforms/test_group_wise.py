"""Which statements make the rows of each group of the rows of that group alone."""

import pytest

from headwater.errors import TransformError
from headwater.lake.transforms.sql.group_wise import check_group_wise


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
        "select city, count(*) / (select max(n) from limits) as share from input group by city",
    ],
)
def test_groups_that_depend_on_their_own_rows_are_let_through(text: str) -> None:
    check_group_wise(text, ["city"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("select count(*) as n from input", "`city` has to come out"),
        ("select 'all' as city, count(*) as n from input", "`city` has to come out"),
        (
            "select upper(city) as city, count(*) as n from input group by upper(city)",
            "`city` has to come out",
        ),
        ("select city as town, count(*) as n from input group by city", "`city` has to come out"),
        ("select * except (city) from input", "`city` has to come out"),
        ("select r.city, i.n from input i join r on i.a = r.a", "`city` has to come out"),
        ("select any_value(city) as city, day from input group by day", "`city` has to come out"),
        ("select city, count(*) as n from input", "without GROUP BY city"),
        ("select day, city from input group by day", "GROUP BY lacks `city`"),
        (
            "select city, n from (select first(city) as city, count(*) as n from input group by day)",
            "has to come",
        ),
        ("select city, count(*) as n from input group by city with rollup", "ROLLUP"),
        ("select city, day, count(*) as n from input group by cube (city, day)", "ROLLUP, CUBE"),
        ("select city, total / sum(total) over () as share from input", "lacks PARTITION BY city"),
        ("select city, rank() over (order by total) as r from input", "lacks PARTITION BY city"),
        ("select city, sum(count(*)) over () as all from input group by city", "lacks PARTITION BY city"),
        ("select city from input order by total limit 3", "LIMIT"),
        ("select city from input tablesample (10 percent)", "TABLESAMPLE"),
        ("select a.city from input a join input b on a.id = b.parent", "several times"),
        ("select city from input where total > (select avg(total) from input)", "several times"),
        ("select city from input except select city from gone", "UNION"),
        ("select city from input union all select city from other", "UNION"),
        ("select i.city from other o join input i on o.id = i.id", "has to stand first"),
        ("select i.city from input i full join other o on o.id = i.id", "RIGHT or FULL JOIN"),
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
    with pytest.raises(TransformError, match="`shop` has to come out"):
        check_group_wise(text, ["city", "shop"])
