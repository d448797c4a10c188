"""A circuit breaker: after a few consecutive failures the model is skipped for a while, to save waiting."""

import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing

from headwater.errors import LanguageModelError
from headwater.rag.language_models.protocol import ChatMessage, JsonSchema, LanguageModel

FAILURES = 3
REST_SECONDS = 15.0


class BreakingModel:
    """A model that is skipped for `REST_SECONDS` after `FAILURES` in a row; one success resets the count."""

    def __init__(self, model: LanguageModel, now: Callable[[], float] = time.monotonic) -> None:
        self._model = model
        self._now = now
        self._failures = 0
        self._closed_until = 0.0

    @property
    def name(self) -> str:
        """Return the model's name."""
        return self._model.name

    async def stream(
        self, messages: Sequence[ChatMessage], schema: JsonSchema | None = None
    ) -> AsyncGenerator[str, None]:
        """Stream as the model does; raises `LanguageModelError` at once while the breaker is open."""
        if self._now() < self._closed_until:
            raise LanguageModelError(
                f"{self.name} failed {FAILURES} times in a row; calls are paused for {REST_SECONDS:g} s"
            )
        # Counts as a failure until it succeeds: a caller that gives up waiting closes the generator.
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
