"""`verify` and `explain` as a user types them, over a bucket whose notifications were lost."""

import json

import pytest

from tests.fixtures.end_to_end.pipeline import NO_RECONCILE, Pipeline

TABLES = {
    "shop": {"path": "shop/*.json", "mode": "mirror"},
    "orders": {"path": "orders/*.json", "record_key": "id"},
}


def lines(*ids: int) -> str:
    return "".join(json.dumps({"id": number}) + "\n" for number in ids)


@pytest.mark.long
def test_objects_with_lost_notifications_are_found_repaired_and_explained(emulator, tmp_path):
    pipeline = Pipeline(emulator, tmp_path, TABLES, reconcile=NO_RECONCILE)
    pipeline.put_all({f"shop/{n}.json": lines(n, 10 + n) for n in range(4)} | {"orders/1.json": lines(1)})
    pipeline.run_once().expect(0)
    pipeline.put_quietly({"shop/0.json": lines(100), "shop/+ %41.json": lines(7)})
    pipeline.announce_to(None)
    pipeline.remove("shop/1.json")
    found = json.loads(pipeline.command("verify", "--json", timeout=200).expect(3).stdout)
    shop, orders = found["tables"]["shop"], found["tables"]["orders"]
    counts = ("ingested", "pending", "missing", "extra", "wrong_version")
    assert [shop[name] for name in counts] == [2, 0, 1, 1, 1]
    assert [orders[name] for name in counts] == [1, 0, 0, 0, 0]
    assert found["watermark"] < found["started_at"]
    repaired = json.loads(pipeline.command("verify", "--repair", "--json", timeout=200).expect(0).stdout)
    assert (repaired["repaired"], repaired["complete"]) == (3, True)
    assert sum(pipeline.rows("shop", "id").values()) == 6
    assert pipeline.rows("shop", "id")[(100,)] == 1
    output = pipeline.command("explain", f"s3://{pipeline.bucket}/shop/1.json", "--json", timeout=200).expect(
        0
    )
    explained = json.loads(output.stdout)
    assert explained["status"] == "removed"
    assert [event["event_name"] for event in explained["events"]] == ["headwater:Repair", "ObjectCreated:Put"]
    assert [made["outcome"] for made in explained["decisions"]] == ["ingested", "removed"]
