"""The English words that any text may contain, whatever the catalogue."""

from functools import lru_cache
from importlib.resources import files


@lru_cache(maxsize=1)
def load_english_words() -> frozenset[str]:
    """Return 82,000 English words in lower case, from the list of symspellpy."""
    lines = (files("symspellpy") / "frequency_dictionary_en_82_765.txt").read_text("utf-8-sig").splitlines()
    return frozenset(line.partition(" ")[0] for line in lines)
