"""In S3, the last-modified time decides, whatever the notification says: a listing decides the same."""

from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest

from headwater.app import App
from headwater.app.objects.verify import Verify

pytestmark = pytest.mark.slow

DAY = timedelta(days=1)


@pytest.mark.parametrize("mode", [{"mode": "mirror"}, {}])
def test_the_time_of_a_notification_decides_nothing_about_an_object_in_the_window(build, spark, mode):
    now = datetime.now(timezone.utc).replace(microsecond=0)
    window = {"modified_after": (now - DAY).isoformat(), "modified_before": (now + DAY).isoformat()}
    lake = build(
        versioned=True,
        rows={"path": "*.json", **mode, **window},
        **{"old": {"path": "*.json", **mode, "modified_before": (now - DAY).isoformat()}},
    )
    created = lake.put("a.json", '{"n": 1}\n')
    # As after a long upload, or of a replica.
    lake.announce(replace(created, event_time=now + 2 * DAY))
    for name in ("rows", "old"):
        lake.ingest(name)
    assert lake.rows("rows", "n") == [(1,)]
    assert lake.rows("old") == []
    found = Verify(App(lake.settings, spark=spark)).run().tables
    assert (found["rows"].counts.ingested, found["old"].counts.ingested) == (1, 0)
    assert all(report.is_complete for report in found.values())
