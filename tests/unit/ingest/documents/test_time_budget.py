import pytest

from headwater.ingest.documents.time_budget import TimeBudget

MEGABYTE = 1024**2


def waste(budget: TimeBudget, documents: int, size: int = MEGABYTE) -> float:
    """Let documents reach their limits; return what they take together."""
    taken = 0.0
    for _ in range(documents):
        limit = budget.choose_limit(size)
        budget.note(limit, is_wasted=True)
        taken += limit
    return taken


def test_a_hundred_hostile_documents_take_minutes_of_one_core() -> None:
    assert waste(TimeBudget(60), 100) == pytest.approx(60 + 30 + 15 + 7.5 + 3.75 + 95 * 3)


def test_an_ordinary_document_may_always_take_two_seconds() -> None:
    budget = TimeBudget(60)
    waste(budget, 1_000)
    assert budget.choose_limit(10_000) >= 2


def test_a_large_document_may_take_longer_than_a_small_one() -> None:
    budget = TimeBudget(60)
    waste(budget, 100)
    assert budget.choose_limit(20 * MEGABYTE) == 22
    assert budget.choose_limit(200 * MEGABYTE) == 60


def test_documents_with_a_result_take_nothing_from_the_others() -> None:
    budget = TimeBudget(60)
    for _ in range(100):
        assert budget.choose_limit(MEGABYTE) == 60
        budget.note(59, is_wasted=False)


def test_a_quick_failure_takes_little_from_the_others() -> None:
    budget = TimeBudget(60)
    for _ in range(100):
        budget.note(0.01, is_wasted=True)
    assert budget.choose_limit(0) == pytest.approx(59.5)


def test_no_document_may_take_longer_than_the_option_says() -> None:
    assert waste(TimeBudget(0.5), 10) == 5


def test_an_archive_takes_no_longer_than_ten_documents_whatever_its_members_are() -> None:
    budget, taken, count = TimeBudget(60), 0.0, 0
    while limit := budget.choose_limit(1_000, "a.zip"):
        seconds = min(limit, 59)
        budget.note(seconds, "a.zip", is_wasted=False)
        taken, count = taken + seconds, count + 1
    assert (taken, count) == (590 + 10, 11)
    assert budget.choose_limit(1_000, "b.zip") == 60
    assert budget.choose_limit(1_000) == 60
