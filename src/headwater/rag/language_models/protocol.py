"""What headwater asks of a model that words answers."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol


@dataclass(frozen=True, slots=True)
class Message:
    """`system` holds instructions, `user` data: what a seller wrote is never an instruction."""

    role: Literal["system", "user"]
    content: str


class LanguageModel(Protocol):
    """Raises `LanguageModelError` when it cannot be asked, is too slow or refuses."""

    @property
    def name(self) -> str:
        """The model."""
        ...

    def stream(self, messages: Sequence[Message]) -> AsyncIterator[str]:
        """The answer in parts. Closing the iterator ends the request."""
        ...
