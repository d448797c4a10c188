"""After a few failures in a row the model is not asked for a while: nobody waits for what will not come."""

import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing

from headwater.errors import LanguageModelError
from headwater.rag.language_models.protocol import ChatMessage, JsonSchema, LanguageModel

FAILURES = 3
REST_SECONDS = 15.0


class BreakingModel:
    """A model that is left alone for `REST_SECONDS` after `FAILURES` in a row; one success forgets them."""

    def __init__(self, model: LanguageModel, now: Callable[[], float] = time.monotonic) -> None:
        self._model = model
        self._now = now
        self._failures = 0
        self._closed_until = 0.0

    @property
    def name(self) -> str:
        """The model's."""
        return self._model.name

    async def stream(
        self, messages: Sequence[ChatMessage], schema: JsonSchema | None = None
    ) -> AsyncGenerator[str, None]:
        """As the model does; raises `LanguageModelError` at once while it rests."""
        if self._now() < self._closed_until:
            raise LanguageModelError(f"{self.name} failed {FAILURES} times in a row and is left alone")
        # A failure until something else is known: a caller that gives up waiting closes the generator.
        self._failures += 1
        if self._failures >= FAILURES:
            self._closed_until = self._now() + REST_SECONDS
        async with aclosing(self._model.stream(messages, schema)) as parts:
            async for part in parts:
                self._failures, self._closed_until = 0, 0.0
                yield part

    async def close(self) -> None:
        """Close the model."""
        await self._model.close()
