"""Turns a model's statements into lines of an answer: composed from facts, or worded freely and checked."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from headwater.config.search.answer import AnswerConfig
from headwater.rag.generation.extract import choose_facts
from headwater.rag.generation.facts import ResolvedProduct, resolve_facts
from headwater.rag.generation.grounding import Fault, Grounding
from headwater.rag.generation.product import Product
from headwater.rag.generation.prompt import FACTS_SCHEMA, STATEMENTS_SCHEMA
from headwater.rag.generation.statements import AnswerStatement
from headwater.rag.generation.wording import Wording, compose_line
from headwater.rag.language_models.protocol import JsonSchema

_STATEMENTS_PER_PRODUCT = 3


@dataclass(frozen=True, slots=True)
class Composed:
    """A line of the answer, empty if nothing is allowed.

    `labels` are the rows that it is about; `removed` counts what was dropped, by fault.
    """

    text: str
    labels: tuple[str, ...] = ()
    removed: Mapping[Fault, int] = field(default_factory=dict)


class Composer(Protocol):
    """Composes one answer. `is_full` is true when it has as many lines as it may have."""

    @property
    def schema(self) -> JsonSchema:
        """Return the format that the model is asked for."""
        ...

    @property
    def is_full(self) -> bool:
        """True if further statements are ignored."""
        ...

    def compose(self, statement: AnswerStatement) -> Iterator[Composed]:
        """Yield the lines of a statement."""
        ...


class FactsComposer:
    """Composes a line for each product that the model chooses, from the facts that it refers to.

    A product without valid references gets the sentence that is nearest to the question.
    """

    schema = FACTS_SCHEMA

    def __init__(
        self, products: Sequence[Product], question: str, config: AnswerConfig, wording: Wording
    ) -> None:
        self._products = products
        self._question = question
        self._config = config
        self._wording = wording
        self._labels: set[str] = set()

    @property
    def is_full(self) -> bool:
        """True if the answer has all its products."""
        return len(self._labels) >= self._config.max_products

    def compose(self, statement: AnswerStatement) -> Iterator[Composed]:
        """Yield a line for each product that has none yet."""
        resolution = resolve_facts(statement, self._products)
        removed: dict[Fault, int] = {"id": resolution.unknown, "fact": resolution.missing}
        yield Composed("", (), {fault: count for fault, count in removed.items() if count})
        for one in resolution.products:
            label = one.product.label
            if not self.is_full and label not in self._labels:
                self._labels.add(label)
                chosen = one if one.fields or one.sentences else choose_facts(one.product, self._question)
                yield Composed(compose_resolved(chosen, self._wording, self._config), (label,))


class FreeComposer:
    """Keeps the model's sentences that the rows support."""

    schema = STATEMENTS_SCHEMA

    def __init__(self, products: Sequence[Product], question: str, config: AnswerConfig) -> None:
        self._grounding = Grounding(products, question)
        self._config = config
        self._count = 0

    @property
    def is_full(self) -> bool:
        """True if the answer has as many statements as its products may have."""
        return self._count >= self._config.max_products * _STATEMENTS_PER_PRODUCT

    def compose(self, statement: AnswerStatement) -> Iterator[Composed]:
        """Yield the statement, if it is supported."""
        verdict = self._grounding.check(statement)
        if verdict.fault:
            yield Composed("", (), {verdict.fault: max(1, verdict.unknown)})
        elif not self.is_full:
            self._count += 1
            cited = f" [{', '.join(verdict.labels)}]" if self._config.cite else ""
            yield Composed(f"{verdict.text}{cited}", verdict.labels)


def build_composer(
    products: Sequence[Product], question: str, config: AnswerConfig, wording: Wording
) -> Composer:
    """Build the composer of the configured wording."""
    if config.wording == "facts":
        return FactsComposer(products, question, config, wording)
    return FreeComposer(products, question, config)


def compose_resolved(chosen: ResolvedProduct, wording: Wording, config: AnswerConfig) -> str:
    """Return the line of a product with its facts."""
    return compose_line(chosen.product, chosen.fields, chosen.sentences, wording, cites=config.cite)
