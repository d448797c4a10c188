"""The interface of models that write answers."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

JsonSchema = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message. `system` holds instructions, `user` data: a seller's text is never an instruction."""

    role: Literal["system", "user"]
    content: str


class LanguageModel(Protocol):
    """Writes answers. Raises `LanguageModelError` when it cannot be called, is too slow or refuses."""

    @property
    def name(self) -> str:
        """Return the model's name."""
        ...

    def stream(
        self, messages: Sequence[ChatMessage], schema: JsonSchema | None = None
    ) -> AsyncGenerator[str, None]:
        """Yield the answer in parts. Closing the generator ends the request.

        `schema` is requested where the model supports one; the answer may still be any text.
        """
        ...

    async def close(self) -> None:
        """Close connections."""
        ...
