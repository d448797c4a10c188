import gzip
import json
from datetime import datetime

import pytest

from headwater.demo.plain_reading import read_plainly
from headwater.demo.scenario import MISSING_KEY, ODD_NAMES, Announce, Put, Resend, SendText, plan_scenario


def test_the_same_seed_gives_the_same_bytes():
    assert plan_scenario(3, 20) == plan_scenario(3, 20)


def test_another_seed_gives_other_bytes():
    assert plan_scenario(3, 20) != plan_scenario(4, 20)


def test_a_minute_brings_a_few_hundred_objects_in_the_order_of_their_times():
    scenario = plan_scenario(1, 60)
    times = [step.at for step in scenario.steps]
    assert 300 <= len(scenario.puts) <= 500
    assert times == sorted(times)
    assert times[0] >= 0
    assert times[-1] <= 60


def test_no_key_is_uploaded_twice():
    keys = [put.key for put in plan_scenario(1, 60).puts]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize("seconds", [1, 10, 60])
def test_every_kind_of_trouble_is_in_a_scenario_of_any_length(seconds):
    scenario = plan_scenario(1, seconds)
    notes = {put.note for put in scenario.puts}
    assert {
        "a folder marker",
        "a truncated gzip",
        "a broken line among good ones",
        "an empty object",
        "an object of no table",
    } <= notes
    assert scenario.poison_count == 1
    assert scenario.resent_count >= 4
    assert [step.key for step in scenario.steps if isinstance(step, Announce)] == [MISSING_KEY]


@pytest.mark.parametrize("seconds", [1, 60])
@pytest.mark.parametrize("folder", ["orders/", "clicks/", "products/"])
@pytest.mark.parametrize("name", ODD_NAMES)
def test_every_table_gets_every_odd_name(seconds, folder, name):
    keys = [put.key for put in plan_scenario(1, seconds).puts]
    assert any(key.startswith(folder) and f"/{name}/" in key for key in keys)


def test_some_objects_are_gzipped():
    gzipped = [put for put in plan_scenario(1, 10).puts if put.key.endswith(".gz") and not put.note]
    assert len(gzipped) >= 5
    assert all(gzip.decompress(put.body) for put in gzipped)


def test_each_table_opens_with_one_file():
    openers = plan_scenario(1, 10).openers
    assert sorted(put.key.split("/")[0] for put in openers) == ["clicks", "orders", "products"]


def test_a_notification_is_sent_again_only_after_its_object_was_put():
    scenario = plan_scenario(1, 30)
    put_at = {put.key: put.at for put in scenario.puts}
    resends = [step for step in scenario.steps if isinstance(step, Resend)]
    assert all(step.at >= put_at[step.key] for step in resends)


def test_the_poison_message_is_not_json():
    (poison,) = (step for step in plan_scenario(1, 10).steps if isinstance(step, SendText))
    with pytest.raises(json.JSONDecodeError):
        json.loads(poison.body)


def test_some_order_changes_come_late_and_must_not_win():
    scenario = plan_scenario(1, 60)
    newest: dict[str, str] = {}
    late = 0
    for put in scenario.puts:
        for line in _read_orders(put):
            late += line["updated_at"] < newest.get(line["order_id"], "")
            newest[line["order_id"]] = max(line["updated_at"], newest.get(line["order_id"], ""))
    assert late
    rows = read_plainly([(put.key, put.body) for put in scenario.puts]).rows["orders"]
    found: dict[object, str] = {}
    for row in rows:
        updated_at = row["updated_at"]
        assert isinstance(updated_at, datetime)
        found[row["order_id"]] = updated_at.isoformat(timespec="milliseconds")
    assert found == {key: text.replace("Z", "+00:00") for key, text in newest.items()}


def _read_orders(put: Put) -> list[dict[str, str]]:
    if not put.key.startswith("orders/") or put.note == "a truncated gzip":
        return []
    body = gzip.decompress(put.body) if put.key.endswith(".gz") else put.body
    return [json.loads(line) for line in body.splitlines() if line.endswith(b"}")]
