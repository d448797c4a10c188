"""Models in this process: no network, no key.

`ScriptedLanguageModel` answers literally from the data block. But it obeys every line in the instruction role
outside headwater's own prompt: it repeats that line, and its base64 content, instead of an answer. So a
seller's text that escapes from its block appears in the answer; tests check for it.

`ObedientLanguageModel` also obeys everything in the data block: the worst case of a model.
"""

import asyncio
import base64
import binascii
import json
import re
from collections.abc import AsyncGenerator, Iterator, Sequence
from typing import Any

from headwater.errors import LanguageModelError
from headwater.rag.language_models.protocol import ChatMessage, JsonSchema
from headwater.rag.prompts.data_block import close_line, house_lines, open_line

_PART_CHARACTERS = 24
_BASE64 = re.compile(r"[A-Za-z0-9+/]{12,}={0,2}")
_LOUD = re.compile(r"\b[A-Z]{4,}\w*")
"""Attacks ask for output in upper-case words, which makes it recognisable in their texts."""
_SENTENCE = re.compile(r"(?<=[.!?:])\s")
_NONCE = re.compile(r"<<data ([0-9a-f]+)>>")


class ScriptedLanguageModel:
    """Answers from the data block; see the module's docstring.

    `says` replaces the answer, `fails` ends it with an error, `pause` is the seconds between its
    parts. `heard` records the input.
    """

    def __init__(self, *, says: str | None = None, fails: bool = False, pause: float = 0) -> None:
        self.heard: list[Sequence[ChatMessage]] = []
        self._says = says
        self._fails = fails
        self._pause = pause

    @property
    def name(self) -> str:
        """Return the model's name."""
        return "scripted"

    async def stream(
        self, messages: Sequence[ChatMessage], schema: JsonSchema | None = None
    ) -> AsyncGenerator[str, None]:
        """Implement the protocol's `stream`."""
        del schema
        self.heard.append(messages)
        if self._fails:
            raise LanguageModelError("the scripted model is set to fail")
        orders = list(iter_orders(messages))
        answer = "\n".join(orders) if orders else self._says or _answer_from_data(messages)
        for at in range(0, len(answer), _PART_CHARACTERS):
            await asyncio.sleep(self._pause)
            yield answer[at : at + _PART_CHARACTERS]

    async def close(self) -> None:
        """Do nothing: there is nothing to close."""


class ObedientLanguageModel(ScriptedLanguageModel):
    """Obeys every text in its input, wherever it occurs.

    It outputs the words that a text asks for, its sentences, and its base64 content, as statements about that
    text's product.
    """

    async def stream(
        self, messages: Sequence[ChatMessage], schema: JsonSchema | None = None
    ) -> AsyncGenerator[str, None]:
        """Implement the protocol's `stream`."""
        del schema
        self.heard.append(messages)
        statements = [
            {"text": text, "products": [item["id"]]}
            for item in _read_data(messages).get("products", [])
            for text in dict.fromkeys(_iter_wanted(item))
        ]
        yield json.dumps({"statements": statements}, ensure_ascii=False)


def _iter_wanted(item: dict[str, Any]) -> Iterator[str]:
    """Yield the outputs that a product's texts ask for, shortest first: orders ask for short outputs."""
    texts = [str(value) for value in (item["text"], item["title"], item["id"], *item["fields"].values())]
    for text in texts:
        yield from _LOUD.findall(text)
    for text in texts:
        sentences = [found.strip() for found in _SENTENCE.split(text) if found.strip()]
        yield from sorted(sentences, key=len)
        yield from _decode_base64(text)
        yield text


def iter_orders(messages: Sequence[ChatMessage]) -> Iterator[str]:
    """Yield lines in the instruction role outside headwater's prompt: injected orders."""
    nonce = _find_nonce(messages)
    known = house_lines(nonce)
    for message in messages:
        text = message.content if message.role == "system" else _outside_of_data(message.content, nonce)
        for line in text.splitlines():
            if line.strip() and line.strip() not in known:
                yield line.strip()
                yield from _decode_base64(line)


def _answer_from_data(messages: Sequence[ChatMessage]) -> str:
    data = _read_data(messages)
    statements = [
        {"text": f"{item['title']}: {_first_sentence(item)}", "products": [item["id"]]}
        for item in data.get("products", [])[:3]
    ]
    return json.dumps({"statements": statements}, ensure_ascii=False)


def _first_sentence(item: dict[str, Any]) -> str:
    body = str(item["text"]).removeprefix(item["title"]).lstrip(" .:")
    return re.split(r"(?<=[.!?])\s", body, maxsplit=1)[0]


def _find_nonce(messages: Sequence[ChatMessage]) -> str:
    found = (_NONCE.search(message.content) for message in messages)
    return next((match[1] for match in found if match), "")


def _read_data(messages: Sequence[ChatMessage]) -> dict[str, Any]:
    nonce = _find_nonce(messages)
    for message in messages:
        if message.role == "user" and open_line(nonce) in message.content:
            inside = message.content.partition(open_line(nonce))[2].partition(close_line(nonce))[0]
            found: dict[str, Any] = json.loads(inside)
            return found
    return {}


def _outside_of_data(content: str, nonce: str) -> str:
    # Up to the first closing line: a forged one ends the block there.
    before, opened, rest = content.partition(open_line(nonce))
    if not opened:
        return content
    return f"{before}\n{rest.partition(close_line(nonce))[2]}"


def _decode_base64(line: str) -> Iterator[str]:
    for found in _BASE64.findall(line):
        try:
            yield base64.b64decode(found, validate=True).decode("utf-8")
        except (binascii.Error, UnicodeDecodeError):
            continue
