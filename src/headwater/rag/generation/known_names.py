"""Names that any description may contain: standards, abbreviations, materials, platforms, countries. Pure."""

from headwater.rag.generation.vocabulary import load_words
from headwater.rag.lexical.english_words import load_english_words


def is_acronym(word: str) -> bool:
    """True if a word in capitals is a known abbreviation, or stands for no word at all."""
    if len(word) < 3 or word in load_words("acronyms") or word in load_words("shouted"):
        return True
    # Three letters that are no word are an abbreviation; longer ones may be a code.
    return len(word) == 3 and word.lower() not in load_english_words()


def is_known_name(word: str) -> bool:
    """True if a capitalised word is a common word, or a name that many products mention."""
    lower = word.lower()
    if lower in load_words("names") or word in load_words("acronyms"):
        return True
    return word[1:].islower() and lower in load_english_words()
