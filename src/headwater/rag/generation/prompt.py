"""The model's input: headwater's instructions, and one block of data that no text can escape from."""

import json
import re
from collections.abc import Sequence

from headwater.rag.generation.product import Product
from headwater.rag.generation.sanitizing import clean_text, end_sentence
from headwater.rag.language_models.protocol import ChatMessage, JsonSchema
from headwater.rag.prompts import Prompt
from headwater.rag.prompts.data_block import close_line, open_line

MAX_TEXT_CHARACTERS = 700
"""Limit per product: a seller cannot crowd out the others."""


def _describe_objects(name: str, properties: JsonSchema) -> JsonSchema:
    one = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {name: {"type": "array", "items": one}},
        "required": [name],
        "additionalProperties": False,
    }


def _describe_fact(kind: str) -> JsonSchema:
    return {
        "type": "object",
        "properties": {kind: {"type": "string"}},
        "required": [kind],
        "additionalProperties": False,
    }


_FACT: JsonSchema = {"anyOf": [_describe_fact("quote"), _describe_fact("field")]}
FACTS_SCHEMA = _describe_objects(
    "products", {"id": {"type": "string"}, "facts": {"type": "array", "items": _FACT}}
)
STATEMENTS_SCHEMA = _describe_objects(
    "statements", {"text": {"type": "string"}, "products": {"type": "array", "items": {"type": "string"}}}
)

_EMAIL = re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]+")
_PHONE = re.compile(r"(?<!\w)\+?\d[\d ()/.-]{7,}\d(?!\w)")


def build_messages(
    question: str, products: Sequence[Product], prompt: Prompt, nonce: str, settings: JsonSchema
) -> list[ChatMessage]:
    """Return instructions and data. `nonce` is new for each request, so its lines cannot be forged in
    advance."""
    data = {
        "settings": settings,
        "question": redact_person(clean_text(question, 1_000)),
        "products": [
            {
                "id": product.label,
                "title": product.title,
                "text": _fit(product.sentences),
                "fields": product.fields,
            }
            for product in products
        ],
    }
    # One line without angle brackets can contain neither a closing line nor a role marker.
    block = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c").replace(">", "\\u003e")
    return [
        ChatMessage("system", prompt.render(nonce)),
        ChatMessage("user", f"{open_line(nonce)}\n{block}\n{close_line(nonce)}"),
    ]


def redact_person(text: str) -> str:
    """Remove mail addresses and telephone numbers: a model does not need them to recommend products."""
    return _PHONE.sub("[number]", _EMAIL.sub("[address]", text))


def _fit(sentences: Sequence[str]) -> str:
    """Return as many complete sentences as fit."""
    text = ""
    for sentence in sentences:
        if len(text) + len(sentence) >= MAX_TEXT_CHARACTERS:
            break
        text = f"{text} {end_sentence(sentence)}".lstrip()
    return text
