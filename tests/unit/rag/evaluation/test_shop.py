from collections import Counter

import pytest

from headwater.rag.evaluation.judged import GAINS
from headwater.rag.evaluation.shop.catalogue import generate
from tests.fixtures.search.other_catalogue import generate_other


@pytest.mark.slow
def test_the_same_seed_gives_the_same_shop_and_another_seed_another() -> None:
    assert generate(1) == generate(1)
    assert generate(1) != generate(2)


def test_shop_is_large_enough_to_distinguish_methods() -> None:
    shop = generate()
    assert len(shop.products) >= 2_000
    assert len({product.fields["category"] for product in shop.products}) >= 12
    assert len(shop.queries) >= 200
    kinds = Counter((query.kind, query.split) for query in shop.queries)
    assert len(kinds) == 8
    assert min(kinds.values()) >= 25
    assert len({product.product_id for product in shop.products}) == len(shop.products)
    assert len({query.text for query in shop.queries}) == len(shop.queries)


def test_every_query_has_an_exact_answer_and_few_of_them() -> None:
    shop = generate()
    for query in shop.queries:
        grades = Counter(shop.gains[query.query_id].values())
        assert 1 <= grades[GAINS["E"]] <= 40, query
    grades = Counter(gain for gains in shop.gains.values() for gain in gains.values())
    assert set(grades) == {100, 10, 1}


def test_the_other_shop_has_no_good_and_no_brand_in_common() -> None:
    def words(products) -> set[str]:
        values = (value for product in products for value in product.fields.values())
        return {value for value in values if isinstance(value, str)}

    assert not words(generate().products) & words(generate_other().products)
