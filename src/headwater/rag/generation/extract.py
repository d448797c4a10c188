"""An answer without a model: only sentences of the rows themselves."""

import re
from collections.abc import Sequence

from headwater.rag.generation.product import Product
from headwater.rag.generation.sanitizing import cut_text

PRODUCTS = 3
_SENTENCE_CHARACTERS = 180
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_WORD = re.compile(r"\w{3,}")


def list_extracts(products: Sequence[Product], question: str) -> list[tuple[str, str]]:
    """Return the label and one line for each of the first few rows: title, price, and the sentence nearest to
    the question."""
    # A row with none of the words may be near in meaning; next to matching rows it is padding.
    matching = [item for item in products if item.row.matched_terms] or products
    return [(item.label, _extract(item, question)) for item in matching[:PRODUCTS]]


def _extract(item: Product, question: str) -> str:
    named = ", ".join(f"{name} {value:g}" for name, value in list(item.iter_prices())[:1])
    head = f"{item.title} ({named})" if named else item.title
    sentence = _choose_sentence(item, question)
    return f"{head}: {sentence}" if sentence else f"{head}."


def _choose_sentence(item: Product, question: str) -> str:
    asked = {word.casefold() for word in _WORD.findall(question)}
    asked.update(term.casefold() for term in item.row.matched_terms)
    body = item.text.removeprefix(item.title).lstrip(" .:\n")
    sentences = [text for text in _SENTENCE.split(body) if text]
    if not sentences:
        return ""
    best = max(sentences, key=lambda text: len(asked & {word.casefold() for word in _WORD.findall(text)}))
    return cut_text(best, _SENTENCE_CHARACTERS)
