"""Prompts. An answer names the version of the prompt that produced it: a hash of the prompt's content."""

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from headwater.config.search.answer import NONCE, AnswerConfig

_DIGEST_CHARACTERS = 12


@dataclass(frozen=True, slots=True)
class Prompt:
    """The instructions to a model; `{nonce}` is the placeholder of each request's delimiter."""

    name: str
    text: str

    @property
    def version(self) -> str:
        """Return the name, and a hash of the content."""
        digest = hashlib.sha256(self.text.encode("utf-8")).hexdigest()
        return f"{self.name}-{digest[:_DIGEST_CHARACTERS]}"

    def render(self, nonce: str) -> str:
        """Return the instructions of one request."""
        return self.text.replace(NONCE, nonce)


def load_prompt(config: AnswerConfig) -> Prompt:
    """Return the configured prompt. Raises `OSError` if its file was removed since the validation."""
    if config.prompt is not None:
        return Prompt(config.prompt.stem, config.prompt.read_text("utf-8"))
    return load_packaged_prompt(config.wording)


@cache
def load_packaged_prompt(wording: str) -> Prompt:
    """Return the prompt of this package for a wording."""
    return Prompt(wording, files(__package__).joinpath(f"{wording}.md").read_text("utf-8"))
