"""What headwater asks of a model that words answers."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

JsonSchema = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """`system` holds instructions, `user` data: what a seller wrote is never an instruction."""

    role: Literal["system", "user"]
    content: str


class LanguageModel(Protocol):
    """Raises `LanguageModelError` when it cannot be asked, is too slow or refuses."""

    @property
    def name(self) -> str:
        """The model."""
        ...

    def stream(
        self, messages: Sequence[ChatMessage], schema: JsonSchema | None = None
    ) -> AsyncGenerator[str, None]:
        """The answer in parts. Closing the generator ends the request.

        `schema` is asked for where the model can be held to one; what comes back may be any text.
        """
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...
