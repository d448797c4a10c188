import gzip
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from headwater.errors import UsageError
from headwater.rag.evaluation.files import NAMES, read_judged, read_shipped, write_judged
from headwater.rag.evaluation.judged import JudgedSet
from headwater.rag.evaluation.shop.catalogue import generate


def write_lines(path: Path, *rows: object) -> Path:
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows), "utf-8")
    return path


def read(
    folder: Path, catalogue: Sequence[object], queries: Sequence[object], judgements: Sequence[object]
) -> JudgedSet:
    rows = {"catalogue": catalogue, "queries": queries, "judgements": judgements}
    return read_judged(*(write_lines(folder / f"{name}.jsonl", *rows[name]) for name in NAMES))


PRODUCT, QUERY = {"id": 1, "title": "lamp"}, {"query_id": "q", "query": "lamp"}
GRADE = {"query_id": "q", "product_id": 1, "grade": "E"}


def test_shipped_files_equal_the_generated_ones(tmp_path: Path) -> None:
    shipped = read_shipped()
    assert shipped == generate()
    write_judged(shipped, tmp_path)
    write_judged(generate(), tmp_path / "again")
    for name in NAMES:
        file = f"{name}.jsonl.gz"
        assert (tmp_path / file).read_bytes() == (tmp_path / "again" / file).read_bytes()


def test_usual_names_of_columns_are_understood(tmp_path: Path) -> None:
    judged = read(
        tmp_path,
        [
            {"product_id": 7, "name": "Lamp", "text": "Bright.", "color": "red", "price": 9.5, "tags": ["a"]},
            {"id": "8", "title": "Hose", "maker": None, "size": {"length": 5, "deeper": {"x": 1}}},
        ],
        [
            {"id": 1, "text": "red lamp", "kind": "need", "split": "tuning"},
            {"query_id": "2", "query": "hose"},
        ],
        [
            {"query_id": "1", "id": 7, "grade": "E"},
            {"query_id": 2, "product_id": "8", "label": "Substitute"},
        ],
    )
    lamp, hose = judged.products
    assert (lamp.product_id, lamp.title, lamp.description) == ("7", "Lamp", "Bright.")
    assert lamp.fields == {"color": "red", "price": 9.5, "tags": ["a"]}
    assert (hose.description, hose.fields) == ("", {"size.length": 5})
    first, second = judged.queries
    assert (first.query_id, first.kind, first.split) == ("1", "need", "tuning")
    assert (second.kind, second.split) == ("all", "held-out")
    assert judged.gains == {"1": {"7": 100}, "2": {"8": 10}}


def test_numbers_are_grades_too(tmp_path: Path) -> None:
    products = [{"id": number, "title": "t"} for number in range(4)]
    grades = [
        {"query_id": "q", "id": number, "grade": grade} for number, grade in enumerate((3, 1.5, "1", 0))
    ]
    judged = read(tmp_path, products, [QUERY], grades)
    assert judged.gains == {"q": {"0": 100, "1": 50, "2": 33, "3": 0}}


def test_gzip_and_empty_lines_are_read(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "c.jsonl", PRODUCT, "", "  ")
    zipped = tmp_path / "c.jsonl.gz"
    zipped.write_bytes(gzip.compress(path.read_bytes()))
    queries, judgements = write_lines(tmp_path / "q", QUERY), write_lines(tmp_path / "j", GRADE)
    assert read_judged(path, queries, judgements) == read_judged(zipped, queries, judgements)


@pytest.mark.parametrize(
    ("catalogue", "queries", "judgements", "message"),
    [
        ([PRODUCT, "{no json"], [QUERY], [GRADE], r"catalogue\.jsonl:2: not JSON"),
        ([PRODUCT, [1]], [QUERY], [GRADE], r"catalogue\.jsonl:2: list"),
        ([{"title": "no id"}], [QUERY], [GRADE], r"catalogue\.jsonl:1: no field product_id or id"),
        ([{"id": 1}], [QUERY], [GRADE], r"catalogue\.jsonl:1: no field title or name"),
        (
            [PRODUCT],
            [{"query_id": 1}],
            [GRADE],
            r"queries\.jsonl:1: no field query or text; fields: query_id",
        ),
        ([PRODUCT], [{**QUERY, "split": "some"}], [GRADE], r"queries\.jsonl:1: invalid split 'some'"),
        ([PRODUCT], [QUERY], [{**GRADE, "query_id": "z"}], r"judgements\.jsonl:1: no query has the id 'z'"),
        ([PRODUCT], [QUERY], [{**GRADE, "grade": "X"}], r"judgements\.jsonl:1: invalid grade 'X'"),
        ([PRODUCT], [QUERY], [{**GRADE, "grade": -1}], r"judgements\.jsonl:1: invalid grade -1"),
        ([PRODUCT], [QUERY], [{**GRADE, "grade": True}], r"judgements\.jsonl:1: invalid grade True"),
        ([], [QUERY], [GRADE], "0 products"),
        ([PRODUCT], [QUERY], [], "0 judged queries"),
    ],
)
def test_unreadable_data_is_reported_with_its_line(
    tmp_path: Path, catalogue: list[object], queries: list[object], judgements: list[object], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        read(tmp_path, catalogue, queries, judgements)


def test_a_missing_file_and_one_that_is_no_text_are_named(tmp_path: Path) -> None:
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe\x00")
    for path in (tmp_path / "absent", binary):
        with pytest.raises(UsageError, match=path.name):
            read_judged(path, path, path)
