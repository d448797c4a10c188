"""Answers a question from retrieved rows, and makes no claim that the rows do not support."""

import secrets
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Literal

import structlog

from headwater.errors import LanguageModelError
from headwater.rag.generation.extract import list_extracts
from headwater.rag.generation.grounding import Fault, Grounding
from headwater.rag.generation.product import Product, build_products
from headwater.rag.generation.prompt import ANSWER_SCHEMA, build_messages
from headwater.rag.generation.sanitizing import clean_text
from headwater.rag.generation.statements import AnswerReader, AnswerStatement
from headwater.rag.language_models.deadline import iter_until
from headwater.rag.language_models.protocol import LanguageModel
from headwater.rag.prompts.data_block import PROMPT_VERSION
from headwater.rag.retrieval.query import SearchQuery, SearchResult

Mode = Literal["llm", "extractive"]
Reason = Literal[
    "", "no_language_model", "language_model_failed", "ungrounded", "interrupted", "nothing_found"
]
MAX_STATEMENTS = 8
NOTHING_FOUND = "No product matches."
_MAX_WORDS = 3
_WORD_CHARACTERS = 40
log = structlog.stdlib.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Found:
    """The rows that the answer will be about; the first event."""

    result: SearchResult
    products: Sequence[Product]


@dataclass(frozen=True, slots=True)
class Said:
    """One checked statement."""

    text: str


@dataclass(slots=True)
class Answer:
    """The outcome; the last event. `removed` counts dropped statements by fault."""

    message: str = ""
    mode: Mode = "extractive"
    reason: Reason = ""
    cited: list[str] = field(default_factory=list)
    removed: Counter[Fault] = field(default_factory=Counter)
    prompt_version: str = ""

    @property
    def degraded(self) -> bool:
        """True if a model should have answered and did not, or did not finish."""
        return self.reason not in {"", "nothing_found"}


Event = Found | Said | Answer
Search = Callable[[SearchQuery], Awaitable[SearchResult]]


class Recommender:
    """Answers questions; calls are independent. `search` may raise `SearchError`, which is passed on. After a
    model failure the answer is an extract, and says so."""

    def __init__(
        self,
        search: Search,
        model: LanguageModel | None,
        *,
        title_fields: Sequence[str] = (),
        model_seconds: float = 20,
    ) -> None:
        self._search = search
        self._model = model
        self._title_fields = title_fields
        self._model_seconds = model_seconds

    async def stream(self, query: SearchQuery) -> AsyncGenerator[Event, None]:
        """Yield `Found`, then any number of `Said`, then `Answer`."""
        result = await self._search(query)
        rows = result.rows if result.is_answerable else ()
        products = build_products(rows, self._title_fields)
        yield Found(result, products)
        answer = Answer()
        if not products:
            answer.message, answer.reason = describe_nothing(result), "nothing_found"
            yield answer
            return
        answer.reason = "" if self._model else "no_language_model"
        if self._model:
            async with aclosing(self._iter_worded(self._model, query.text, products, answer)) as worded:
                async for text in worded:
                    yield Said(_append(answer, text))
        if not answer.message:
            answer.mode = "extractive"
            for label, text in list_extracts(products, query.text):
                answer.cited.append(label)
                yield Said(_append(answer, text))
        yield answer

    async def recommend(self, query: SearchQuery) -> tuple[Found, Answer]:
        """Return the complete answer at once."""
        found: Found | None = None
        async with aclosing(self.stream(query)) as events:
            async for event in events:
                if isinstance(event, Found):
                    found = event
                elif isinstance(event, Answer) and found:
                    return found, event
        raise AssertionError("a stream ends with its answer")

    async def _iter_worded(
        self, model: LanguageModel, question: str, products: Sequence[Product], answer: Answer
    ) -> AsyncGenerator[str, None]:
        messages = build_messages(question, products, secrets.token_hex(8))
        grounding, reader = Grounding(products, question), AnswerReader(products)
        answer.mode, answer.prompt_version = "llm", PROMPT_VERSION
        said = 0
        try:
            parts = iter_until(model.stream(messages, ANSWER_SCHEMA), self._model_seconds)
            async with aclosing(parts):
                async for part in parts:
                    for text in _iter_kept(grounding, reader.feed(part), answer):
                        said += 1
                        yield text
                    if said >= MAX_STATEMENTS:
                        return
            for text in _iter_kept(grounding, reader.finish(), answer):
                said += 1
                yield text
        except LanguageModelError as error:
            log.warning("language model failed", error=error.message, said=said)
            answer.reason = "interrupted" if said else "language_model_failed"
            return
        if not said:
            answer.reason = "ungrounded"


def describe_nothing(result: SearchResult) -> str:
    """Return the text shown instead of an answer, with the words that no row contains."""
    words = [clean_text(word, _WORD_CHARACTERS) for word in result.unmatched[:_MAX_WORDS]]
    named = ", ".join(word for word in words if word)
    return f"{NOTHING_FOUND} Not found: {named}." if named else NOTHING_FOUND


def _iter_kept(grounding: Grounding, statements: Sequence[AnswerStatement], answer: Answer) -> list[str]:
    kept = []
    for statement in statements:
        verdict = grounding.check(statement)
        if verdict.fault:
            answer.removed[verdict.fault] += max(1, verdict.unknown)
        else:
            kept.append(verdict.text)
            answer.cited += [label for label in verdict.labels if label not in answer.cited]
    return kept


def _append(answer: Answer, text: str) -> str:
    """Append to the message and return the added text: statements are lines."""
    piece = f"\n{text}" if answer.message else text
    answer.message += piece
    return piece
