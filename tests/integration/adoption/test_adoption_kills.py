"""`headwater adopt` as a process that is killed between its steps, then `run`, `verify` and `reconcile`."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headwater.demo.emulator import CREDENTIALS, REGION
from tests.fixtures.emulator import EmulatorSession
from tests.fixtures.end_to_end.product import Product
from tests.fixtures.old_pipeline import ORDERS, PAYMENTS, TABLES, Model, OldPipeline

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture
def old(
    spark: SparkSession, emulator: EmulatorSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> OldPipeline:
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    return OldPipeline(spark, emulator, emulator.create_landing_zone(), tmp_path)


def test_a_killed_adoption_continues_and_every_event_is_processed_once(
    old: OldPipeline, emulator: EmulatorSession, tmp_path: Path
) -> None:
    model = Model(old).fill()
    old.process(ORDERS, 13)
    old.process(PAYMENTS, 5)
    queue = {"queue": {"url": old.zone.queue_url}}
    source = {
        "type": "s3",
        "bucket": old.zone.bucket,
        "region": REGION,
        "endpoint": emulator.endpoint,
        **queue,
    }
    product = Product(tmp_path, source, TABLES, emulator.environment)
    command = ("adopt", "--events", old.events)

    planned = product.command(*command, "--dry-run", timeout=180).expect(0).stdout
    assert "nothing written" in planned
    for point in ("after_adopted_events", "after_adopted_table"):
        assert product.start(*command, crash_point=point).finish(180).was_killed
    done = product.command(*command, timeout=180).expect(0).stdout
    assert "adopted before" in done
    assert "next: headwater run" in done
    assert "nothing to do" in product.command(*command, timeout=180).expect(0).stdout

    old.remove(*(f"orders/0-{number}.json" for number in range(10)))
    model.put_more()
    product.run_once().expect(0)
    product.assert_every_event_is_once()
    for table, records in model.records.items():
        assert {row["id"]: (row["at"], row["amount"]) for row in product.records(table)} == records
    product.command("verify", timeout=120).expect(0)
    found = product.command("reconcile", "--dry-run", timeout=120).expect(0)
    assert "60 objects listed: 0 missing, 0 changed, 0 absent from the listing" in found.stdout
