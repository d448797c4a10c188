"""A table is copied before those it refers to."""

from headwater.app.backup.order import order_for_copy
from headwater.config.settings import Settings


def test_consumers_come_before_their_sources():
    settings = Settings.model_validate(
        {
            "source": {"type": "local", "path": "/landing"},
            "lake": "/lake",
            "tables": {
                "gold": {"from": "silver"},
                "bronze": {
                    "path": "*.json",
                    "record_key": "id",
                    "changes": {"preset": "dms"},
                },
                "silver": {"from": "bronze"},
            },
            "search": {"table": "bronze", "text": ["title"]},
        }
    )
    assert order_for_copy(settings) == [
        *("chunks", "ledger", "gold", "silver", "bronze"),
        *("tombstones", "quarantine", "reconciles", "events"),
    ]
    plain = settings.model_copy(update={"search": None})
    assert "chunks" not in order_for_copy(plain)
