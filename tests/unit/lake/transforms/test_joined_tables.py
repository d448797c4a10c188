"""Which statements over several tables make each group of its own rows, and by which of their columns."""

import pytest

from headwater.errors import TransformError
from headwater.lake.transforms.sql.joined_tables import check_tables, find_group_columns

NAMES = ("orders", "customers")
ON = "on o.customer_id = c.id"
BOTH = f"customers c join orders o {ON}"
OTHER_WAY = f"orders o join customers c {ON}"


def find(text: str, *keys: str) -> dict[str, tuple[str, ...]]:
    return dict(find_group_columns(text, NAMES, keys or ("id",)))


@pytest.mark.parametrize(
    "text",
    [
        f"select c.id, c.name, sum(o.price) as total from {BOTH} group by c.id, c.name",
        f"select o.customer_id as id, count(*) as n from {OTHER_WAY} group by 1",
        f"select c.id, count(*) as n from {OTHER_WAY} group by o.customer_id, c.id",
        f"select c.id, count(*) as n from {OTHER_WAY} group by all",
        f"select c.*, o.price from customers c left join orders o {ON} and o.paid where c.name is not null",
        "select c.id, o.price from orders o right outer join customers c on (c.id <=> o.customer_id and o.x)",
        f"select coalesce(c.id, o.customer_id) as id from orders o full join customers c {ON}",
        f"select c.id from customers c left semi join orders o {ON}",
        f"select c.id from customers c anti join orders o {ON}",
        "select Customers.ID from CUSTOMERS join Orders on customers.Id = orders.Customer_Id",
        f"select c.id, rank() over (partition by o.customer_id order by o.at) as r from {OTHER_WAY}",
        "select id, name from customers union all select customer_id, text from orders",
        "select id from customers except select customer_id as id from orders",
        "with t as (select customer_id, sum(price) as total from orders group by customer_id), "
        "u as (select * from t) "
        "select c.id, u.total from customers c left join u on u.customer_id = c.id",
        "with t as (select customer_id as id from orders) "
        "select c.id, u.id as other from customers c "
        "join (with u as (select id from t) select * from u) u on c.id = u.id",
        f"select c.id, o.price from {OTHER_WAY} "
        "join orders again on again.customer_id = c.id and again.price > o.price",
        f"select c.id, item from {BOTH} lateral view explode(o.items) as item",
        f"select /*+ broadcast(c) */ distinct c.id from {BOTH} order by c.id",
    ],
)
def test_the_group_columns_of_each_table_are_found(text: str) -> None:
    assert find(text) == {"orders": ("customer_id",), "customers": ("id",)}


def test_several_group_columns_and_using_are_found() -> None:
    using = "select shop, day, o.price, t.aim from orders o full join customers t using (shop, day)"
    assert find(using, "shop", "day") == {"orders": ("shop", "day"), "customers": ("shop", "day")}
    assert find("select * from orders join customers using (k)", "k") == {
        "orders": ("k",),
        "customers": ("k",),
    }
    named = "select o.a as x, c.d as y from orders o join customers c on o.a = c.b and o.c = c.d"
    assert find(named, "Y", "X") == {"orders": ("c", "a"), "customers": ("d", "b")}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("select c.id from customers c cross join orders o", "'o' is not joined on the group columns"),
        ("select c.id from customers c, orders o where c.id = o.customer_id", "'o' is not joined"),
        (f"select c.id from customers c natural join orders o {ON}".replace(ON, ""), "'o' is not joined"),
        ("select c.id from customers c join orders o on c.id = o.customer_id or o.x", "'o' is not joined"),
        ("select c.id from customers c join orders o on c.id > o.customer_id", "'o' is not joined"),
        ("select c.id from customers c join orders o on upper(c.id) = o.customer_id", "'o' is not joined"),
        ("select c.id from customers c join orders o on id = customer_id", "'o' is not joined"),
        ("select c.id from customers c join orders o on c.a.id = o.customer_id", "'o' is not joined"),
        (f"select o.shop as id from {BOTH}", "o.shop as 'id' is not a column, unchanged"),
        (f"select upper(c.id) as id from {BOTH}", "UPPER(c.id) as 'id' is not a column"),
        (f"select o.customer_id as id from customers c left join orders o {ON}",
            "makes o.customer_id null: select c.id as id"),
        (f"select c.id from customers c full join orders o {ON}",
            "makes c.id null: select coalesce(c.id, o.customer_id) as id"),
        (f"select id from {BOTH}", "may be a column of several tables: write TABLE.id"),
        (f"select c.name from {BOTH}", "the result must contain `id`"),
        (f"select * except (id) from {BOTH}", "the result must contain `id`"),
        (f"select c.id, sum(o.price) as s from {BOTH}", "without GROUP BY id combines all"),
        (f"select c.id from {BOTH} having count(*) > 1", "without GROUP BY id combines"),
        (f"select c.id, count(*) n from {BOTH} group by c.name",
            "GROUP BY c.name combines rows with different `id`"),
        (f"select c.id, count(*) n from {BOTH} group by rollup (c.id)", "totals over groups"),
        (f"select c.id, sum(1) over (partition by c.name) s from {BOTH}",
            "is a window over rows with different `id`: add PARTITION BY c.id"),
        (f"select c.id, sum(1) over (order by c.id) s from {BOTH}", "is a window over"),
        (f"select c.id from {BOTH} limit 3", "LIMIT 3 may depend on rows of other groups"),
        (f"select c.id from customers c join orders tablesample (5 rows) o {ON}", "may depend on rows"),
        ("select id from (select id from customers limit 3) union select customer_id from orders", "LIMIT 3"),
        ("select c.id, (select max(price) from orders) m from customers c", "is a subquery in an expression"),
        ("select id from customers where id in (select customer_id from orders)", "is a subquery in an"),
        (f"select c.id from {BOTH} and exists (select 1 from orders)", "is a subquery"),
        ("select * from customers union all select * from orders", "select columns by name instead of *"),
        ("select 1 as x, id from customers union all select customer_id from orders", "at the position of"),
        (f"select c.id from {BOTH} join db.rates r on r.id = c.id",
            "db.rates AS r is not a table of `from`, so its changes are not followed"),
        (f"select c.id from {BOTH} join orders p on p.id = c.id",
            "joins 'orders' by customer_id, and elsewhere by id"),
        (f"select c.id from customers as c(id, name) join orders o {ON}", "renames columns"),
        (f"with t(id, a) as (select * from customers) select c.id from t c join orders o {ON}", "renames"),
        (f"select c.id from {BOTH} join (values (1)) v on v.col1 = c.id", "is not a table"),
    ],
)  # fmt: skip
def test_statements_that_may_combine_groups_are_refused(text: str, said: str) -> None:
    with pytest.raises(TransformError) as raised:
        find(text)
    assert said in raised.value.message
    assert "`refresh: full`" in raised.value.hint


def test_one_column_is_not_two_group_columns() -> None:
    with pytest.raises(TransformError, match="a, b are not different columns of 'orders'"):
        find(f"select o.customer_id as a, c.id as b from {OTHER_WAY}", "a", "b")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("select * from order join customers", "no table 'order'. Did you mean 'orders'?"),
        ("select * from orders", "it does not read 'customers', which `from` lists"),
        (
            "with orders as (select 1 from customers) select * from orders",
            "WITH orders has the name of a table",
        ),
        ("insert into orders select * from customers", "only a SELECT is allowed"),
    ],
)
def test_the_statement_reads_exactly_the_listed_tables(text: str, said: str) -> None:
    with pytest.raises(TransformError) as raised:
        check_tables(text, NAMES)
    assert said in raised.value.message


def test_any_statement_over_the_tables_is_allowed_for_a_full_refresh() -> None:
    check_tables("select *, (select max(x) from db.rates) as m from Orders, customers limit 3", NAMES)
