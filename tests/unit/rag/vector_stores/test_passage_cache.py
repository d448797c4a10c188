"""What searches found is kept, and never longer than it is true."""

from headwater.rag.passage import Passage
from headwater.rag.vector_stores.passage_cache import PassageCache


def make(name: str) -> Passage:
    return Passage(name, name, 0, "text", {}, "")


def test_cached_passage_is_found_until_written() -> None:
    cache = PassageCache(10)
    one, two = make("one"), make("two")
    cache.add({1: one, 2: two}, cache.begin_read())
    assert cache.find([1, 2, 3]) == {1: one, 2: two, 3: None}
    cache.begin_write()
    cache.end_write([1])
    assert cache.find([1, 2]) == {1: None, 2: two}


def test_passage_read_during_a_write_is_not_cached() -> None:
    cache = PassageCache(10)
    before = cache.begin_read()
    cache.begin_write()
    during = cache.begin_read()
    cache.add({1: make("old")}, before)
    cache.end_write([1])
    cache.add({1: make("old")}, before)
    cache.add({1: make("old")}, during)
    assert cache.find([1]) == {1: None}


def test_the_oldest_go_when_it_is_full() -> None:
    cache = PassageCache(2)
    for number in range(4):
        cache.add({number: make(str(number))}, cache.begin_read())
    assert [number for number, passage in cache.find(range(4)).items() if passage] == [2, 3]
    assert len(cache) == 2
