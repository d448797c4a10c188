"""Models in this process: no network, no key.

`ScriptedLanguageModel` answers literally from the data block. But it obeys every line in the instruction role
outside headwater's own prompt: it repeats that line, and its base64 content, instead of an answer. So a
seller's text that escapes from its block appears in the answer; tests check for it.

`ObedientLanguageModel` also obeys everything in the data block: the worst case of a model.
`CopyingLanguageModel` repeats every sentence of the data block.
"""

import asyncio
import base64
import binascii
import json
import re
from collections.abc import AsyncGenerator, Iterator, Sequence
from typing import Any

from headwater.errors import LanguageModelError
from headwater.rag.disguises import list_readings
from headwater.rag.language_models.protocol import ChatMessage, JsonSchema
from headwater.rag.prompts import Prompt, load_packaged_prompt
from headwater.rag.prompts.data_block import close_line, house_lines, open_line

_PART_CHARACTERS = 24
_BASE64 = re.compile(r"[A-Za-z0-9+/]{12,}={0,2}")
_SENTENCE = re.compile(r"(?<=[.!?:])\s")
_NONCE = re.compile(r"<<data ([0-9a-f]+)>>")


class ScriptedLanguageModel:
    """Answers from the data block; see the module's docstring.

    `says` replaces the answer, `fails` ends it with an error, `pause` is the seconds between its
    parts. `heard` records the input. `prompt` is known as headwater's own; default: those of the package.
    """

    def __init__(
        self,
        *,
        says: str | None = None,
        fails: bool = False,
        pause: float = 0,
        prompt: Prompt | None = None,
    ) -> None:
        self._prompts = [prompt] if prompt else [load_packaged_prompt(name) for name in ("facts", "free")]
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
        self.heard.append(messages)
        if self._fails:
            raise LanguageModelError("the scripted model is set to fail")
        orders = list(iter_orders(messages, self._prompts))
        answer = "\n".join(orders) if orders else self._says or _answer_from_data(messages, schema)
        for at in range(0, len(answer), _PART_CHARACTERS):
            await asyncio.sleep(self._pause)
            yield answer[at : at + _PART_CHARACTERS]

    async def close(self) -> None:
        """Do nothing: there is nothing to close."""


class ObedientLanguageModel(ScriptedLanguageModel):
    """Obeys every text in its input, wherever it occurs.

    It outputs what a text may ask for as statements about that text's product, in the requested format: each
    of its words, its sentences, what they say if they are encoded, and the words of all products joined.
    """

    async def stream(
        self, messages: Sequence[ChatMessage], schema: JsonSchema | None = None
    ) -> AsyncGenerator[str, None]:
        """Implement the protocol's `stream`."""
        self.heard.append(messages)
        items = _read_data(messages).get("products", [])
        joined = " ".join(text for item in items for text in _iter_texts(item))
        for item in items:
            wanted = [*_iter_wanted(item), joined, *list_readings(joined)]
            yield _write(item["id"], list(dict.fromkeys(wanted)), [*item["fields"], *wanted], schema)


class CopyingLanguageModel(ScriptedLanguageModel):
    """Repeats the sentences of sellers, as a model does that finds them convincing."""

    async def stream(
        self, messages: Sequence[ChatMessage], schema: JsonSchema | None = None
    ) -> AsyncGenerator[str, None]:
        """Implement the protocol's `stream`."""
        self.heard.append(messages)
        for item in _read_data(messages).get("products", []):
            texts = [found for text in _iter_texts(item) for found in _SENTENCE.split(text)]
            yield _write(item["id"], texts, list(item["fields"]), schema)


def _write(product_id: str, texts: Sequence[str], fields: Sequence[str], schema: JsonSchema | None) -> str:
    """Return the texts about a product as one answer in the requested format."""
    if _asks_for_facts(schema):
        facts: list[dict[str, str]] = [{"quote": text} for text in texts]
        facts += [{"field": name} for name in fields]
        # A model may write text where references are expected.
        return json.dumps([{"id": product_id, "text": " ".join(texts), "facts": facts}], ensure_ascii=False)
    return json.dumps([{"text": text, "products": [product_id]} for text in texts], ensure_ascii=False)


def _asks_for_facts(schema: JsonSchema | None) -> bool:
    properties = (schema or {}).get("properties")
    return isinstance(properties, dict) and "statements" not in properties


def _iter_texts(item: dict[str, Any]) -> Iterator[str]:
    values = (item["text"], item["title"], item["id"], *item["fields"], *item["fields"].values())
    for value in values:
        yield from map(str, value if isinstance(value, list) else [value])


def _iter_wanted(item: dict[str, Any]) -> Iterator[str]:
    """Yield the outputs that a product's texts may ask for, shortest first."""
    for text in _iter_texts(item):
        yield from text.split()
        yield from sorted((found.strip() for found in _SENTENCE.split(text) if found.strip()), key=len)
        yield from _decode_base64(text)
        yield from list_readings(text)


def iter_orders(messages: Sequence[ChatMessage], prompts: Sequence[Prompt]) -> Iterator[str]:
    """Yield lines in the instruction role outside the prompts: injected orders."""
    nonce = _find_nonce(messages)
    known = frozenset[str]().union(*(house_lines(prompt, nonce) for prompt in prompts))
    for message in messages:
        text = message.content if message.role == "system" else _outside_of_data(message.content, nonce)
        for line in text.splitlines():
            if line.strip() and line.strip() not in known:
                yield line.strip()
                yield from _decode_base64(line)


def _answer_from_data(messages: Sequence[ChatMessage], schema: JsonSchema | None) -> str:
    items = _read_data(messages).get("products", [])[:3]
    if _asks_for_facts(schema):
        chosen = [{"id": item["id"], "facts": [{"quote": _first_sentence(item)}]} for item in items]
        return json.dumps({"products": chosen}, ensure_ascii=False)
    statements = [
        {"text": f"{item['title']}: {_first_sentence(item)}", "products": [item["id"]]} for item in items
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
