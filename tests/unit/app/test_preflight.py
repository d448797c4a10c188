"""What is told first when several things are wrong before a run."""

import pytest

from headwater.app.preflight import check_before_run
from headwater.config.settings import Settings
from headwater.errors import HeadwaterError, QueueNotFoundError, SourceError

SETTINGS = Settings.model_validate(
    {"source": {"type": "s3", "bucket": "typo"}, "lake": "s3a://lake", "tables": {"a": {"path": "*.json"}}}
)
NO_QUEUE = QueueNotFoundError("there is no queue headwater-typo")


@pytest.fixture
def fail(monkeypatch: pytest.MonkeyPatch) -> dict[str, HeadwaterError]:
    """Errors of the two questions to the source, by name; the machine itself is fine."""
    errors: dict[str, HeadwaterError] = {}

    def ask(name: str) -> None:
        if name in errors:
            raise errors[name]

    monkeypatch.setattr("headwater.app.preflight.find_java", lambda _: None)
    monkeypatch.setattr("headwater.sources.s3.source.ensure_bucket", lambda _: ask("bucket"))
    monkeypatch.setattr("headwater.sources.s3.source.read_attributes", lambda _: ask("queue"))
    return errors


def test_missing_bucket_is_reported_before_its_queue(fail: dict[str, HeadwaterError]) -> None:
    fail |= {"bucket": SourceError("bucket typo does not exist"), "queue": NO_QUEUE}
    with pytest.raises(SourceError, match="bucket typo does not exist"):
        check_before_run(SETTINGS, {})


def test_missing_queue_is_reported_when_the_bucket_exists(fail: dict[str, HeadwaterError]) -> None:
    fail |= {"queue": NO_QUEUE}
    with pytest.raises(QueueNotFoundError):
        check_before_run(SETTINGS, {})
    fail.clear()
    check_before_run(SETTINGS, {})


def test_a_process_that_does_not_capture_needs_no_queue(fail: dict[str, HeadwaterError]) -> None:
    fail |= {"queue": NO_QUEUE}
    check_before_run(SETTINGS, {}, captures=False)
    fail |= {"bucket": SourceError("bucket typo does not exist")}
    with pytest.raises(SourceError):
        check_before_run(SETTINGS, {}, captures=False)
