"""Resolves a model's references to facts of the rows.

A model chooses products and refers to facts of each: a field by its name, or words of the row's text.
Whatever it writes, an answer consists of templates, plain values and complete sentences of the row that it
names. A reference that its row does not have is dropped and counted.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from headwater.rag.field_value import FieldValue
from headwater.rag.generation.product import Product
from headwater.rag.generation.statements import AnswerStatement, FactReference
from headwater.rag.lexical.analyzer import list_words

MAX_FACTS = 4
"""Facts of one product."""

_MIN_QUOTED_WORDS = 2


@dataclass(frozen=True, slots=True)
class ResolvedProduct:
    """A chosen product with the facts that it has, in the model's order: names of fields, and sentences."""

    product: Product
    fields: tuple[str, ...] = ()
    sentences: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Resolution:
    """What a statement refers to. `unknown` counts ids of no row, `missing` facts that no named row has."""

    products: tuple[ResolvedProduct, ...]
    unknown: int = 0
    missing: int = 0


def resolve_facts(statement: AnswerStatement, products: Sequence[Product]) -> Resolution:
    """Return the products that a statement names, with the facts that they have.

    A statement in words refers to the sentences that it repeats.
    """
    by_name = {name: item for item in products for name in (item.row.row_key, item.label)}
    named = {item.label: item for name in statement.cited if (item := by_name.get(name)) is not None}
    unknown = sum(name not in by_name for name in statement.cited)
    facts = list(statement.facts)
    if statement.text:
        facts.append(FactReference(statement.text, is_quote=True))
    resolved = [_resolve_one(item, facts) for item in named.values()]
    missing = sum(count for _, count in resolved)
    return Resolution(tuple(item for item, _ in resolved), unknown, missing)


def _resolve_one(product: Product, facts: Sequence[FactReference]) -> tuple[ResolvedProduct, int]:
    fields: list[str] = []
    sentences: list[str] = []
    missing = 0
    for fact in facts:
        name = None if fact.is_quote and not fact.is_either else _find_field(product, fact.text)
        found = _find_sentences(product, fact.text) if fact.is_quote and name is None else []
        missing += name is None and not found
        fields += [name] if name is not None and name not in fields else []
        sentences += [sentence for sentence in found if sentence not in sentences]
    kept = sentences[:MAX_FACTS]
    return ResolvedProduct(product, tuple(fields[: MAX_FACTS - len(kept)]), tuple(kept)), missing


def _find_field(product: Product, name: str) -> str | None:
    value = product.fields.get(name)
    return name if _is_shown(value) and value != product.title else None


def _is_shown(value: FieldValue) -> bool:
    return value is not None and value not in ("", [])


def _find_sentences(product: Product, quote: str) -> list[str]:
    """Return the complete sentences that contain the quote, or that it contains.

    Half a sentence may claim the opposite.
    """
    wanted = f" {' '.join(list_words(quote))} "
    if len(wanted.split()) < _MIN_QUOTED_WORDS:
        return []
    found = []
    for sentence in product.quotable:
        words = f" {' '.join(list_words(sentence))} "
        if wanted in words or words in wanted:
            found.append(sentence)
    return found
