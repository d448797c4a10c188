"""A table of products in a lake of its own, and its index in a folder beside it."""

import random
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from benchmarks.rig.apps import build_settings
from headwater.app import App
from headwater.app.search import SearchIndex, build_indexer
from headwater.config.settings import Settings
from headwater.lake.layout import table_path
from headwater.lake.options import WriteOptions
from headwater.lake.table import Table
from headwater.rag.evaluation.shop.products import build_items
from headwater.rag.indexing.indexer import IndexReport

COLUMNS = "id string, title string, description string, brand string, price double"
Row = tuple[Any, ...]


def build_shop_settings(folder: Path) -> Settings:
    """A lake in the folder whose products are searched, by the default model."""
    search = {"table": "products", "text": {"title": 3, "description": 1}}
    table = {"path": "*.json", "record_key": "id", "ordering": "price"}
    source = {"type": "local", "path": str(folder / "source")}
    return build_settings(folder, source, {"products": table}, search=search)


def list_products(number: int) -> list[Row]:
    """Rows of the shipped generator, the same each time."""
    return list(islice(_iter_products(), number))


def write_products(spark: SparkSession, settings: Settings, rows: list[Row]) -> None:
    """One commit of the table."""
    frame = spark.createDataFrame(rows, COLUMNS)
    options = WriteOptions("products", "upsert", ("id",), table_type="copy_on_write")
    Table(spark, table_path(settings.lake, "products")).write(frame, options)


def build_chunks(app: App) -> IndexReport:
    """One indexing run, by a process that knows nothing yet."""
    report = build_indexer(app).run()
    assert report is not None
    return report


def open_index(settings: Settings, folder: Path) -> SearchIndex:
    """The index in the folder."""
    plain = settings.model_dump(by_alias=True, exclude_unset=True)
    plain["search"]["store"] = {"type": "local", "path": str(folder)}
    return SearchIndex(Settings.model_validate(plain), environ={})


def _iter_products() -> Iterator[Row]:
    numbers = count(1)
    for seed in count(1):
        for item in build_items(random.Random(seed)):
            made = item.product
            brand, price = str(made.fields.get("brand", "")), float(str(made.fields.get("price", 1)))
            yield str(next(numbers)), made.title, made.description, brand, price
