"""A restored lake with `clean_source` loses no rows unless its user has agreed to."""

from datetime import datetime, timedelta, timezone
from pathlib import Path
from threading import Event

import pytest
from pyspark.sql import SparkSession

from headwater.app import App
from headwater.app.reconcile.after_restore import ensure_reconciled
from headwater.app.restore_state import RESTORE_FILE, RestoreState, open_lake
from headwater.app.run import Run
from headwater.capture.reconcile import ReconcilePass
from headwater.capture.reconcile.pass_table import PassTable
from headwater.config.settings import Settings
from headwater.errors import UsageError
from headwater.lake.layout import reconciles_path

RESTORED = datetime(2026, 11, 25, 12, tzinfo=timezone.utc)


def build(
    folder: Path, clean_source: str = "delete", mode: str = "mirror", *, is_restored: bool = True
) -> Settings:
    (folder / "landing").mkdir()
    settings = Settings.model_validate(
        {
            "source": {"type": "local", "path": str(folder / "landing"), "clean_source": clean_source},
            "lake": str(folder / "lake"),
            "tables": {"orders": {"path": "*.json", "mode": mode}},
        }
    )
    if is_restored:
        state = RestoreState("/backup", RESTORED - timedelta(minutes=1), RESTORED)
        open_lake(settings).write(RESTORE_FILE, state.to_bytes())
    return settings


def reconcile(app: App, started_at: datetime) -> None:
    done = ReconcilePass(
        pass_id=started_at.isoformat(),
        bucket=app.settings.sources[0].known_location,
        prefix="",
        listing="listing",
        started_at=started_at,
        finished_at=started_at + timedelta(seconds=5),
    )
    PassTable(app.spark, reconciles_path(app.settings.lake)).save(done)


def test_a_run_waits_for_a_reconcile_since_the_restore(spark: SparkSession, tmp_path: Path) -> None:
    app = App(build(tmp_path), spark=spark)
    (tmp_path / "landing" / "a.json").write_text('{"n": 1}')
    with pytest.raises(
        UsageError, match=r"restored from /backup.* and orders would lose their rows"
    ) as raised:
        Run(app).once(Event())
    assert raised.value.hint
    assert "headwater reconcile --dry-run" in raised.value.hint
    reconcile(app, RESTORED - timedelta(hours=1))
    with pytest.raises(UsageError):
        ensure_reconciled(app)
    reconcile(app, RESTORED + timedelta(hours=1))
    assert Run(app).once(Event()).tables["orders"].rows == 1


@pytest.mark.parametrize(
    "changes", [{"clean_source": "off"}, {"mode": "append"}, {"is_restored": False}], ids=str
)
def test_other_lakes_need_no_reconcile(spark: SparkSession, tmp_path: Path, changes) -> None:
    ensure_reconciled(App(build(tmp_path, **changes), spark=spark))
