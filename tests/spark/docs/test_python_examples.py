"""The Python of the how-tos runs as it stands, beside a headwater.yaml and the table that it names."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.lakes import FIXTURE_LAKE

pytestmark = pytest.mark.slow

PAGES = Path(__file__).parents[3] / "docs/how-to"
SHOWN = {
    path.name: blocks
    for path in sorted(PAGES.glob("*.md"))
    if (blocks := re.findall(r"^```python\n(.*?)^```$", path.read_text("utf-8"), re.DOTALL | re.MULTILINE))
}
ELSEWHERE = {
    "forget.md": "tests/integration/docs/test_python_page.py",
    "iceberg-views.md": "tests/unit/lake/iceberg_view/test_view.py",
    "orchestrators.md": "tests/integration/orchestrators/test_examples.py",
    "rehearse.md": "tests/integration/test_rehearse.py",
    "serve.md": "tests/integration/serve/test_command.py",
    "use-from-python.md": "tests/integration/docs/test_python_page.py",
    "vectors-and-blobs.md": "tests/spark/lake/queries/test_vectors_and_blobs_page.py",
    "write-to-a-table.md": "tests/integration/docs/test_shell_examples.py",
}
"""Pages whose example needs the table that the page makes, a process of its own or a server."""


both = pytest.mark.parametrize("shop", ["orders_cow", "orders_mor"], indirect=True)


@pytest.fixture
def shop(request, tmp_path, monkeypatch):
    shutil.copytree(FIXTURE_LAKE / request.param, tmp_path / "lake" / "orders")
    (tmp_path / "headwater.yaml").write_text(
        f"""
source: {{type: local, path: landing}}
lake: {tmp_path}/lake
tables:
  orders: {{path: "orders/**/*.json", record_key: order_id}}
"""
    )
    monkeypatch.chdir(tmp_path)
    return request.param


def run_example(page, **names):
    for block in SHOWN[page]:
        exec(compile(block, page, "exec"), names)
    return names


def test_every_page_with_python_is_run(request):
    read = {"index-a-table.md", "look-after-a-table.md", "look-at-a-table.md", "query-a-table.md"}
    assert SHOWN.keys() == read | {"several-writers.md"} | ELSEWHERE.keys()
    for test in ELSEWHERE.values():
        assert "python" in (request.config.rootpath / test).read_text("utf-8")


@pytest.mark.parametrize("shop", ["orders_mor"], indirect=True)
def test_a_compaction_is_planned(shop, capsys):
    run_example("look-after-a-table.md")
    assert "partitions=2, file_groups=2" in capsys.readouterr().out


@both
def test_indexes_are_listed_and_advised(shop, capsys):
    run_example("index-a-table.md")
    # The last line is what the advice adds to the configuration.
    assert capsys.readouterr().out


@both
def test_table_is_inspected(shop):
    found = run_example("look-at-a-table.md")
    assert found["pending"] == []
    assert found["rows"] == 8


@pytest.mark.parametrize("shop", ["orders_cow"], indirect=True)
def test_a_table_is_read_at_an_instant_and_by_its_changes(shop, spark, capsys):
    found = run_example("query-a-table.md", spark=spark)
    assert found["table"].num_rows == 8
    assert found["frame"].count() == 8
    assert "i " in capsys.readouterr().out


@both
@pytest.mark.parametrize("blocks", [1, 2])
def test_another_writer_commits_with_the_documented_options(shop, spark, tmp_path, blocks):
    options: dict[str, str] = {}
    for block in SHOWN["several-writers.md"][:blocks]:
        names: dict[str, Any] = {}
        exec(block, names)
        options |= names["options"]
    path = tmp_path / "lake/orders"
    before = len(list((path / ".hoodie/timeline").glob("*commit")))
    rows = spark.read.format("hudi").load(str(path)).limit(1)
    table_type = "MERGE_ON_READ" if shop == "orders_mor" else "COPY_ON_WRITE"
    rows.select([name for name in rows.columns if not name.startswith("_hoodie")]).write.format("hudi").mode(
        "append"
    ).options(
        **{
            "hoodie.table.name": shop,
            "hoodie.datasource.write.table.type": table_type,
            "hoodie.datasource.write.hive_style_partitioning": "true",
            **options,
        }
    ).save(str(path))
    assert len(list((path / ".hoodie/timeline").glob("*commit"))) == before + 1
