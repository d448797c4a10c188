import pytest

from benchmarks.search.prober import Change, plan_changes

CUP = {"product_id": "1", "title": "Cup", "description": "For tea.", "price": 4.5}


def build_hit(price=4.5, text="Cup\nFor tea."):
    return {"id": "1", "text": text, "fields": {"price": price}}


@pytest.mark.parametrize(
    ("hit", "right"),
    [
        (build_hit(), True),
        (build_hit(price=5.5), False),
        (build_hit(text="Cup\nFor two."), False),
        (None, False),
    ],
)
def test_an_answer_is_right_about_a_put_product_when_price_and_words_are_those_of_its_file(hit, right):
    assert Change(CUP).is_told_by(hit) is right


@pytest.mark.parametrize(("hit", "right"), [(None, True), (build_hit(), False)])
def test_an_answer_is_right_about_a_removed_product_when_it_is_absent(hit, right):
    assert Change(CUP, is_removal=True).is_told_by(hit) is right


def test_changes_are_of_all_kinds_and_of_each_product_once():
    there = [CUP | {"product_id": str(number)} for number in range(20)]
    new = [CUP | {"product_id": str(number)} for number in range(20, 30)]
    changes = plan_changes(there, new, 20)
    assert len({change.product_id for change in changes}) == 20
    assert [change.is_removal for change in changes[:4]] == [False, False, False, True]
    price, words, added, removed = (change.product for change in changes[:4])
    assert price["price"] != CUP["price"]
    assert words["description"] != CUP["description"]
    assert added["product_id"] == "20"
    assert removed["product_id"] == "2"
