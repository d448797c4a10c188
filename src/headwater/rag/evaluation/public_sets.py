"""Reads the official files of WANDS and of Amazon's ESCI, which are not shipped."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from headwater.errors import UsageError
from headwater.rag.evaluation.judged import GAINS, JudgedProduct, JudgedQuery, JudgedSet, Split

WANDS_GAINS: Mapping[str, int] = {"Exact": 100, "Partial": 50, "Irrelevant": 0}
WANDS_FILES = ("product.csv", "query.csv", "label.csv")
ESCI_FILES = ("shopping_queries_dataset_examples.parquet", "shopping_queries_dataset_products.parquet")
_ESCI_PRODUCT_COLUMNS = (
    "product_id", "product_title", "product_description", "product_bullet_point", "product_brand",
    "product_color", "product_locale",
)  # fmt: skip


def read_wands(folder: Path) -> JudgedSet:
    """Read the tab-separated `product.csv`, `query.csv` and `label.csv`, as published by Wayfair.

    Raises `UsageError` when a file or a column is missing.
    """
    product, query, label = (_read_tabbed(folder / name) for name in WANDS_FILES)
    products = [
        JudgedProduct(
            str(row["product_id"]),
            str(row["product_name"] or ""),
            str(row.get("product_description") or ""),
            _keep(row, ("product_class", "category hierarchy", "average_rating")),
        )
        for row in _list_rows(product, folder / WANDS_FILES[0], ("product_id", "product_name"))
    ]
    queries = [
        JudgedQuery(str(row["query_id"]), str(row["query"]))
        for row in _list_rows(query, folder / WANDS_FILES[1], ("query_id", "query"))
    ]
    gains: dict[str, dict[str, int]] = {}
    for row in _list_rows(label, folder / WANDS_FILES[2], ("query_id", "product_id", "label")):
        gains.setdefault(str(row["query_id"]), {})[str(row["product_id"])] = _look_up(
            row["label"], WANDS_GAINS
        )
    return JudgedSet(products, queries, gains)


def read_esci(folder: Path, *, locale: str = "us") -> JudgedSet:
    """Read one locale of the Shopping Queries Dataset (reduced version) from its two Parquet files.

    The catalogue contains the judged products. `train` becomes tuning, `test` held-out. Raises `UsageError`
    when a file or a column is missing.
    """
    wanted = ("query_id", "query", "product_id", "product_locale", "esci_label", "small_version", "split")
    examples = _read_parquet(folder / ESCI_FILES[0], wanted)
    examples = examples.filter(
        pc.and_(pc.equal(examples["product_locale"], locale), pc.equal(examples["small_version"], 1))
    )
    catalogue = _read_parquet(folder / ESCI_FILES[1], _ESCI_PRODUCT_COLUMNS)
    judged_ids = pc.is_in(catalogue["product_id"], value_set=examples["product_id"].combine_chunks())
    catalogue = catalogue.filter(pc.and_(pc.equal(catalogue["product_locale"], locale), judged_ids))
    queries: dict[str, JudgedQuery] = {}
    gains: dict[str, dict[str, int]] = {}
    for row in examples.to_pylist():
        key = str(row["query_id"])
        split: Split = "tuning" if row["split"] == "train" else "held-out"
        queries.setdefault(key, JudgedQuery(key, str(row["query"]), "all", split))
        gains.setdefault(key, {})[str(row["product_id"])] = _look_up(row["esci_label"], GAINS)
    return JudgedSet([_to_esci_product(row) for row in catalogue.to_pylist()], list(queries.values()), gains)


def _to_esci_product(row: Mapping[str, Any]) -> JudgedProduct:
    parts = [row["product_bullet_point"], row["product_description"]]
    return JudgedProduct(
        str(row["product_id"]),
        str(row["product_title"] or ""),
        "\n".join(str(part) for part in parts if part),
        _keep(row, ("product_brand", "product_color")),
    )


def _keep(row: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: row[name] for name in names if row.get(name) is not None}


def _look_up(label: object, gains: Mapping[str, int]) -> int:
    if str(label) not in gains:
        raise UsageError(
            f"invalid label {label!r}; allowed: {', '.join(gains)}", hint="use the official files"
        )
    return gains[str(label)]


def _read_tabbed(path: Path) -> pa.Table:
    try:
        return pyarrow.csv.read_csv(
            path, parse_options=pyarrow.csv.ParseOptions(delimiter="\t", newlines_in_values=True)
        )
    except (OSError, pa.ArrowInvalid) as error:
        raise UsageError(
            f"{path}: {error}", hint=f"specify the folder of {', '.join(WANDS_FILES)}"
        ) from error


def _read_parquet(path: Path, columns: Sequence[str]) -> pa.Table:
    try:
        return pyarrow.parquet.read_table(path, columns=list(columns)).select(list(columns))
    except (OSError, pa.ArrowInvalid, KeyError) as error:
        raise UsageError(f"{path}: {error}", hint=f"specify the folder of {', '.join(ESCI_FILES)}") from error


def _list_rows(table: pa.Table, path: Path, columns: Sequence[str]) -> list[dict[str, Any]]:
    missing = [name for name in columns if name not in table.column_names]
    if missing:
        raise UsageError(f"{path}: no column {', '.join(missing)}", hint="use the official files")
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows
