from headwater.sources.local.folder_watcher.settling import Settling


def test_a_key_is_due_when_it_was_quiet_long_enough() -> None:
    settling = Settling(2)
    settling.touch("a", 10)
    settling.touch("b", 11)
    assert settling.next_due_at() == 12
    assert settling.take_due(11.9) == []
    assert settling.take_due(12) == [("a", None)]
    assert settling.next_due_at() == 13


def test_a_further_change_starts_the_quiet_time_again() -> None:
    settling = Settling(2)
    settling.touch("a", 10)
    settling.touch("b", 10)
    settling.touch("a", 11)
    assert settling.take_due(12) == [("b", None)]
    assert settling.take_due(13) == [("a", None)]
    assert not len(settling)


def test_being_listed_is_no_change() -> None:
    settling = Settling(2)
    settling.add_listed("a", 10, "etag")
    settling.add_listed("a", 11, "etag")
    assert settling.take_due(12) == [("a", "etag")]
