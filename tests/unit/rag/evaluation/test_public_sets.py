"""Small samples of the shape of the official files."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from headwater.errors import UsageError
from headwater.rag.evaluation.judged import JudgedQuery
from headwater.rag.evaluation.public_sets import ESCI_FILES, WANDS_FILES, read_esci, read_wands

PRODUCT = (
    "product_id\tproduct_name\tproduct_class\tcategory hierarchy\tproduct_description\tproduct_features\t"
    "rating_count\taverage_rating\treview_count\n"
    "0\tsolid wood platform bed\tBeds\tFurniture / Beds\tgood , deep sleep\toverallwidth:64.7\t15\t4.5\t15\n"
    '1\t"7 qt. slow cooker"\tSlow Cookers\tKitchen\t\tcapacityquarts:7\t100\t2.0\t98\n'
)
QUERY = "query_id\tquery\tquery_class\n0\tsalon chair\tMassage Chairs\n1\tslow cooker\tSlow Cookers\n"
LABEL = "id\tquery_id\tproduct_id\tlabel\n0\t1\t1\tExact\n1\t1\t0\tIrrelevant\n2\t0\t0\tPartial\n"


@pytest.fixture
def wands(tmp_path: Path) -> Path:
    for name, text in zip(WANDS_FILES, (PRODUCT, QUERY, LABEL), strict=True):
        (tmp_path / name).write_text(text, "utf-8")
    return tmp_path


def test_wands_is_read(wands: Path) -> None:
    judged = read_wands(wands)
    assert [product.title for product in judged.products] == ["solid wood platform bed", "7 qt. slow cooker"]
    assert judged.products[0].description == "good , deep sleep"
    assert judged.products[1].description == ""
    assert judged.products[0].fields["product_class"] == "Beds"
    assert judged.queries[1] == JudgedQuery("1", "slow cooker", "all", "held-out")
    assert judged.gains == {"1": {"1": 100, "0": 0}, "0": {"0": 50}}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (WANDS_FILES[2], LABEL.replace("Exact", "Perfect"), "Perfect"),
        (WANDS_FILES[1], QUERY.replace("query\t", "words\t"), "no column query"),
    ],
)
def test_other_files_than_wands_are_refused(wands: Path, name: str, text: str, message: str) -> None:
    (wands / name).write_text(text, "utf-8")
    with pytest.raises(UsageError, match=message):
        read_wands(wands)


def test_a_folder_without_the_files_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"product\.csv"):
        read_wands(tmp_path)
    with pytest.raises(UsageError, match="shopping_queries"):
        read_esci(tmp_path)


def write_esci(folder: Path) -> None:
    examples = [
        {"example_id": number, "query": query, "query_id": query_id, "product_id": product,
         "product_locale": locale, "esci_label": label, "small_version": small, "large_version": 1,
         "split": split}
        for number, (query, query_id, product, locale, label, small, split) in enumerate(
            [
                ("desk lamp", 5, "B1", "us", "E", 1, "train"),
                ("desk lamp", 5, "B2", "us", "S", 1, "train"),
                ("hose", 6, "B2", "us", "I", 1, "test"),
                ("hose", 6, "B3", "us", "E", 0, "test"),
                ("lampe", 7, "B1", "es", "E", 1, "test"),
            ]
        )
    ]  # fmt: skip
    products = [
        {"product_id": product, "product_title": f"title {product}", "product_description": None,
         "product_bullet_point": "- bright", "product_brand": "Lumo", "product_color": None,
         "product_locale": locale}
        for product, locale in (("B1", "us"), ("B2", "us"), ("B3", "us"), ("B1", "es"))
    ]  # fmt: skip
    for name, rows in zip(ESCI_FILES, (examples, products), strict=True):
        pyarrow.parquet.write_table(pa.Table.from_pylist(rows), folder / name)


def test_the_reduced_esci_of_one_locale_is_read(tmp_path: Path) -> None:
    write_esci(tmp_path)
    judged = read_esci(tmp_path)
    assert [product.product_id for product in judged.products] == ["B1", "B2"]
    assert judged.products[0].description == "- bright"
    assert judged.products[0].fields == {"product_brand": "Lumo"}
    assert {(query.text, query.split) for query in judged.queries} == {
        ("desk lamp", "tuning"),
        ("hose", "held-out"),
    }
    assert judged.gains == {"5": {"B1": 100, "B2": 10}, "6": {"B2": 0}}
