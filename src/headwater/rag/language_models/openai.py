"""Models behind any endpoint with OpenAI's chat API."""

from collections.abc import AsyncGenerator, Sequence
from typing import Any
from urllib.parse import urlsplit

from openai import (
    APIError,
    APIStatusError,
    AsyncOpenAI,
    AsyncStream,
    BadRequestError,
    Timeout,
    UnprocessableEntityError,
)
from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt, wait_random_exponential

from headwater.config.search.serving import LanguageModelConfig
from headwater.errors import LanguageModelError
from headwater.rag.language_models.protocol import ChatMessage, JsonSchema

CONNECT_SECONDS = 3.0
ATTEMPTS = 3
"""The first attempt, and two retries of transient errors."""
_MAY_PASS = frozenset({408, 409, 429})


class OpenAILanguageModel:
    """Streams chat completions. The SDK's own retries are off: they ignore our deadline."""

    def __init__(self, config: LanguageModelConfig, api_key: str) -> None:
        self._config = config
        self._client = AsyncOpenAI(
            base_url=config.endpoint,
            api_key=api_key,
            timeout=Timeout(config.timeout, connect=min(CONNECT_SECONDS, config.timeout)),
            max_retries=0,
        )
        self._takes_schema = True

    @property
    def name(self) -> str:
        """Return the model's name."""
        return str(self._config.model)

    async def stream(
        self, messages: Sequence[ChatMessage], schema: JsonSchema | None = None
    ) -> AsyncGenerator[str, None]:
        """Implement the protocol's `stream`."""
        try:
            chunks = await self._open(messages, schema if self._takes_schema else None)
            async with chunks:
                async for chunk in chunks:
                    for choice in chunk.choices:
                        if choice.finish_reason == "content_filter" or choice.delta.refusal:
                            raise LanguageModelError(f"{self.name} refused to answer")
                        if choice.delta.content:
                            yield choice.delta.content
        except APIStatusError as error:
            raise LanguageModelError(f"{self._where}: HTTP {error.status_code}") from error
        except APIError as error:
            # The error texts can contain parts of the request.
            raise LanguageModelError(f"{self._where}: {type(error).__name__}") from error

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    @property
    def _where(self) -> str:
        host = urlsplit(str(self._config.endpoint)).hostname
        return f"{self.name} at {host}"

    async def _open(self, messages: Sequence[ChatMessage], schema: JsonSchema | None) -> AsyncStream[Any]:
        try:
            return await self._request(messages, schema)
        except (BadRequestError, UnprocessableEntityError):
            if schema is None:
                raise
        # Many endpoints do not support schemas; the answer is then parsed leniently.
        found = await self._request(messages, None)
        self._takes_schema = False
        return found

    async def _request(self, messages: Sequence[ChatMessage], schema: JsonSchema | None) -> AsyncStream[Any]:
        body: Any = {
            "model": self._config.model,
            "messages": [{"role": item.role, "content": item.content} for item in messages],
            "max_tokens": self._config.max_tokens,
            "temperature": self._config.temperature,
        }
        if schema is not None:
            response_schema = {"name": "answer", "strict": True, "schema": dict(schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": response_schema}
        retrying = AsyncRetrying(
            retry=retry_if_exception(_may_pass),
            wait=wait_random_exponential(multiplier=0.25, max=2),
            stop=stop_after_attempt(ATTEMPTS),
            reraise=True,
        )

        async def create() -> AsyncStream[Any]:
            opened: AsyncStream[Any] = await self._client.chat.completions.create(stream=True, **body)
            return opened

        return await retrying(create)


def _may_pass(error: BaseException) -> bool:
    return isinstance(error, APIStatusError) and (error.status_code in _MAY_PASS or error.status_code >= 500)
