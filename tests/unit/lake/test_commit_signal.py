"""Readers of a table wait for its commits, also for those of other processes."""

import threading

from headwater.lake.commit_signal import CommitSignal


def test_a_commit_before_the_wait_is_not_missed() -> None:
    signal = CommitSignal()
    seen = signal.count
    signal.wake()
    signal.wait(seen, timeout=60)
    assert signal.count == seen + 1


def test_a_commit_wakes_a_waiting_reader() -> None:
    signal = CommitSignal()
    reader = threading.Thread(target=signal.wait, args=(signal.count, 60))
    reader.start()
    signal.wake()
    reader.join(30)
    assert not reader.is_alive()


def test_a_wait_without_commits_ends() -> None:
    signal = CommitSignal()
    signal.wait(signal.count, timeout=0.01)
    assert signal.count == 0


def test_other_processes_are_detected_at_most_as_often_as_asked() -> None:
    detected: list[None] = []
    signal = CommitSignal(lambda: detected.append(None))
    signal.external_seconds = 60
    signal.refresh()
    assert detected == []
    signal.external_seconds = 0
    signal.refresh()
    signal.external_seconds = 60
    signal.refresh()
    assert len(detected) == 1
