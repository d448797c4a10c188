"""Answers a question from retrieved rows, and makes no claim that the rows do not support."""

import asyncio
import secrets
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Literal

import structlog

from headwater.config.search.answer import AnswerConfig
from headwater.errors import LanguageModelError
from headwater.rag.generation.composing import Composer, build_composer, compose_resolved
from headwater.rag.generation.extract import list_extracts
from headwater.rag.generation.grounding import Fault
from headwater.rag.generation.languages import detect_language
from headwater.rag.generation.product import Product, build_products
from headwater.rag.generation.prompt import build_messages
from headwater.rag.generation.sanitizing import clean_text
from headwater.rag.generation.statements import AnswerReader, AnswerStatement
from headwater.rag.generation.wording import WORDINGS, Wording, compose_nothing
from headwater.rag.language_models.deadline import iter_until
from headwater.rag.language_models.protocol import ChatMessage, LanguageModel
from headwater.rag.prompts import load_prompt
from headwater.rag.retrieval.query import SearchQuery, SearchResult

Mode = Literal["llm", "extractive"]
Reason = Literal[
    "", "no_language_model", "language_model_failed", "ungrounded", "interrupted", "nothing_found"
]
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
    """The outcome; the last event. `removed` counts what was dropped of a model's answer, by fault."""

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


@dataclass(frozen=True, slots=True)
class AnswerRules:
    """How answers are worded; the columns with titles; the timeout of the language model, in seconds."""

    config: AnswerConfig = field(default_factory=AnswerConfig)
    title_fields: Sequence[str] = ()
    model_seconds: float = 20


Event = Found | Said | Answer
Search = Callable[[SearchQuery], Awaitable[SearchResult]]


class Recommender:
    """Answers questions; calls are independent. `search` may raise `SearchError`, which is passed on. After a
    model failure the answer is an extract, and says so."""

    def __init__(
        self,
        search: Search,
        model: LanguageModel | None,
        rules: AnswerRules | None = None,
    ) -> None:
        self._search = search
        self._model = model
        self._rules = rules or AnswerRules()
        self._config = self._rules.config
        # Read once: a changed file takes effect with the next start, as the other settings do.
        self._prompt = load_prompt(self._config)

    async def stream(self, query: SearchQuery) -> AsyncGenerator[Event, None]:
        """Yield `Found`, then any number of `Said`, then `Answer`."""
        result = await self._search(query)
        rows = result.rows if result.is_answerable else ()
        # New sentences take about a millisecond each, in which the event loop would serve no other request.
        products = await asyncio.to_thread(
            build_products, rows, self._rules.title_fields, query.text, self._config.currency
        )
        yield Found(result, products)
        answer = Answer()
        language = detect_language(query.text) if self._config.language == "auto" else self._config.language
        wording = WORDINGS[language]
        if not products:
            answer.message, answer.reason = describe_nothing(result, wording), "nothing_found"
            yield answer
            return
        answer.reason = "" if self._model else "no_language_model"
        if self._model:
            composer = build_composer(products, query.text, self._config, wording)
            messages = self._build_messages(query.text, products, language)
            async with aclosing(
                self._iter_worded(self._model, messages, composer, products, answer)
            ) as lines:
                async for text in lines:
                    yield Said(self._append(answer, text, wording))
        if not answer.message:
            answer.mode = "extractive"
            for one in list_extracts(products, query.text, self._config.max_products):
                answer.cited.append(one.product.label)
                yield Said(self._append(answer, compose_resolved(one, wording, self._config), wording))
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

    def _build_messages(self, question: str, products: Sequence[Product], language: str) -> list[ChatMessage]:
        config = self._config
        settings = {"language": language, "tone": config.tone, "max_products": config.max_products}
        return build_messages(question, products, self._prompt, secrets.token_hex(8), settings)

    async def _iter_worded(
        self,
        model: LanguageModel,
        messages: Sequence[ChatMessage],
        composer: Composer,
        products: Sequence[Product],
        answer: Answer,
    ) -> AsyncGenerator[str, None]:
        reader = AnswerReader(products)
        answer.mode, answer.prompt_version = "llm", self._prompt.version
        said = 0
        try:
            parts = iter_until(model.stream(messages, composer.schema), self._rules.model_seconds)
            async with aclosing(parts):
                async for part in parts:
                    for text in _iter_kept(composer, reader.feed(part), answer):
                        said += 1
                        yield text
                    if composer.is_full:
                        return
            for text in _iter_kept(composer, reader.finish(), answer):
                said += 1
                yield text
        except LanguageModelError as error:
            log.warning("language model failed", error=error.message, said=said)
            answer.reason = "interrupted" if said else "language_model_failed"
            return
        if not said:
            answer.reason = "ungrounded"

    def _append(self, answer: Answer, text: str, wording: Wording) -> str:
        """Append to the message and return the added text: statements are lines."""
        start = f"{wording.opening}\n" if self._config.tone == "friendly" else ""
        piece = f"\n{text}" if answer.message else f"{start}{text}"
        answer.message += piece
        return piece


def describe_nothing(result: SearchResult, wording: Wording) -> str:
    """Return the text shown instead of an answer, with the words that no row contains."""
    words = [clean_text(word, _WORD_CHARACTERS) for word in result.unmatched[:_MAX_WORDS]]
    return compose_nothing([word for word in words if word], wording)


def _iter_kept(composer: Composer, statements: Sequence[AnswerStatement], answer: Answer) -> Iterator[str]:
    for statement in statements:
        for composed in composer.compose(statement):
            answer.removed.update(composed.removed)
            answer.cited += [label for label in composed.labels if label not in answer.cited]
            if composed.text:
                yield composed.text
