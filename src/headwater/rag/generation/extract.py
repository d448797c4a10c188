"""Chooses facts without a model: the sentence of each row that is nearest to the question."""

import re
from collections.abc import Sequence

from headwater.rag.generation.facts import ResolvedProduct
from headwater.rag.generation.product import Product
from headwater.rag.generation.sanitizing import cut_text

_SENTENCE_CHARACTERS = 180
_WORD = re.compile(r"\w{3,}")


def list_extracts(products: Sequence[Product], question: str, count: int) -> list[ResolvedProduct]:
    """Return the first `count` rows, each with the sentence that is nearest to the question."""
    # A row with none of the words may be near in meaning; next to matching rows it is padding.
    matching = [item for item in products if item.row.matched_terms] or products
    return [choose_facts(item, question) for item in matching[:count]]


def choose_facts(item: Product, question: str) -> ResolvedProduct:
    """Return a product with its sentence that is nearest to the question, if it has one."""
    asked = {word.casefold() for word in _WORD.findall(question)}
    asked.update(term.casefold() for term in item.row.matched_terms)
    if not item.quotable:
        return ResolvedProduct(item)
    best = max(item.quotable, key=lambda text: len(asked & {word.casefold() for word in _WORD.findall(text)}))
    return ResolvedProduct(item, sentences=(cut_text(best, _SENTENCE_CHARACTERS),))
