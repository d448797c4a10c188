"""The sync of an index, killed between every two of its steps: the next one makes the same of it."""

import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headwater.app.search import SearchIndex
from headwater.config.settings import Settings
from headwater.lake import find_address
from headwater.lake.service_table import ServiceTable
from headwater.lake.services.deletion import delete_rows
from headwater.rag.syncing.divergence import digest_states
from tests.fixtures.search.indexed_lake import IndexedLake
from tests.fixtures.search.sync_points import POINTS

pytestmark = pytest.mark.slow

ROWS = 600


@dataclass(frozen=True)
class Prepared:
    """A lake whose chunks are ahead of the index in `folder`; `digest` is what it has to become."""

    settings: Settings
    folder: Path
    digest: str
    embedded: int


def build_row(number: int, *, price: float = 1.0, text: str = "", at: int = 1) -> dict[str, object]:
    return {
        "sku": f"s{number}",
        "title": f"title {number}",
        "text": text or f"t{number}",
        "price": price,
        "at": at,
    }


def configure(lake: IndexedLake, folder: Path) -> Settings:
    plain = lake.files.settings.model_dump(by_alias=True, exclude_unset=True)
    plain["search"]["store"] = {"type": "local", "path": str(folder)}
    return Settings.model_validate(plain)


def read_digest(index: SearchIndex) -> str:
    found = index.versions.open_live()
    assert found is not None
    return digest_states(found[1].iter_states())


@pytest.fixture(scope="module")
def prepared(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    folder = tmp_path_factory.mktemp("kills")
    table = {"path": "*.json", "record_key": "sku", "ordering": "at"}
    lake = IndexedLake(spark, folder, table, {"text": ["title", "text"]})
    lake.put("a.json", [build_row(number) for number in range(ROWS)])
    lake.put("b.json", [build_row(number) for number in range(ROWS, ROWS + 20)])
    lake.ingest()
    lake.indexer.run()
    settings = configure(lake, folder / "index")
    index = SearchIndex(settings, environ={})
    index.sync()
    index.close()
    # New texts for half of the rows, new prices for others, and some go.
    lake.put("c.json", [build_row(number, text="another", at=2) for number in range(300)])
    lake.put("d.json", [build_row(number, price=2.0, at=2) for number in range(300, 400)])
    lake.ingest()
    address = find_address(lake.files.settings, "products")
    deleted = delete_rows(ServiceTable(spark, address), f"cast(substr(sku, 2) as int) >= {ROWS}")
    assert deleted.rows == 20
    report = lake.indexer.run()
    assert report is not None
    assert (report.embedded, report.fields_only, report.deleted) == (300, 100, 20)
    shutil.copytree(folder / "index", folder / "calm")
    calm = SearchIndex(configure(lake, folder / "calm"), environ={})
    assert calm.sync().has_changed
    digest = read_digest(calm)
    calm.close()
    state = index.find_chunks_state()
    assert state is not None
    return Prepared(settings, folder / "index", digest, state.embedded)


@pytest.mark.parametrize("point", POINTS)
def test_a_killed_sync_is_made_good(prepared: Prepared, tmp_path: Path, point: str) -> None:
    shutil.copytree(prepared.folder, tmp_path / "index")
    plain = prepared.settings.model_dump(mode="json", by_alias=True, exclude_unset=True)
    plain["search"]["store"]["path"] = str(tmp_path / "index")
    config = tmp_path / "headwater.yaml"
    config.write_text(json.dumps(plain))
    killed = subprocess.run(
        [sys.executable, "-m", "headwater.cli.main", "--config", str(config), "index", "sync", "--json"],
        env={**os.environ, "HEADWATER_CRASH_POINT": point},
        start_new_session=True,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
    index = SearchIndex(Settings.model_validate(plain), environ={})
    index.sync()
    assert read_digest(index) == prepared.digest
    assert index.reconcile().divergent_rows == 0
    assert not index.sync().has_changed
    state = index.find_chunks_state()
    index.close()
    # Vectors come from the chunks table: whatever happens to an index, nothing is embedded for it.
    assert state is not None
    assert state.embedded == prepared.embedded
