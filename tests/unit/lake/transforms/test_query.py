"""The one SELECT of a step: which texts are taken, and which columns come out."""

import pytest

from headwater.errors import TransformError
from headwater.lake.transforms.sql.query import cut_semicolon, list_output_columns, parse_query


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("select a from input; select b from input", "2 statements; exactly one is allowed"),
        ("-- nothing", "there is no statement"),
        ("drop table input", "only a SELECT is allowed here"),
        ("insert into t select * from input", "only a SELECT is allowed here"),
        ("select a from where", "line 1, column 19"),
        ("select 'a from input", "Error tokenizing"),
    ],
)
def test_text_that_is_not_one_select_is_refused(text, said):
    with pytest.raises(TransformError) as raised:
        parse_query(text)
    assert said in raised.value.message
    assert raised.value.hint


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("select ';' as a from input; -- all of them", "select ';' as a from input"),
        ("select a from input -- no; end", "select a from input -- no; end"),
    ],
)
def test_semicolon_and_the_rest_are_removed(text, cut):
    parse_query(text)
    assert cut_semicolon(text) == cut


def test_columns_that_come_out_are_known_unless_there_is_a_star():
    assert list_output_columns(parse_query("select ID, upper(n) as Name from input")) == ["id", "name"]
    assert list_output_columns(parse_query("select i.*, 1 as x from input i")) is None
