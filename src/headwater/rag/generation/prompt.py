"""The model's input: headwater's instructions, and one block of data that no text can escape from."""

import json
import re
from collections.abc import Sequence

from headwater.rag.generation.product import Product
from headwater.rag.generation.sanitizing import clean_text, cut_text
from headwater.rag.language_models.protocol import ChatMessage, JsonSchema
from headwater.rag.prompts import load_prompt
from headwater.rag.prompts.data_block import PROMPT_VERSION, close_line, open_line

MAX_TEXT_CHARACTERS = 700
"""Limit per product: a seller cannot crowd out the others."""

ANSWER_SCHEMA: JsonSchema = {
    "type": "object",
    "properties": {
        "statements": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "text": {"type": "string"},
                    "products": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["text", "products"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["statements"],
    "additionalProperties": False,
}

_EMAIL = re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]+")
_PHONE = re.compile(r"(?<!\w)\+?\d[\d ()/.-]{7,}\d(?!\w)")


def build_messages(question: str, products: Sequence[Product], nonce: str) -> list[ChatMessage]:
    """Return instructions and data. `nonce` is new for each request, so its lines cannot be forged in
    advance."""
    data = {
        "question": redact_person(clean_text(question, 1_000)),
        "products": [
            {
                "id": product.label,
                "title": product.title,
                "text": cut_text(product.text, MAX_TEXT_CHARACTERS),
                "fields": product.fields,
            }
            for product in products
        ],
    }
    # One line without angle brackets can contain neither a closing line nor a role marker.
    block = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c").replace(">", "\\u003e")
    return [
        ChatMessage("system", load_prompt(PROMPT_VERSION).replace("{nonce}", nonce)),
        ChatMessage("user", f"{open_line(nonce)}\n{block}\n{close_line(nonce)}"),
    ]


def redact_person(text: str) -> str:
    """Remove mail addresses and telephone numbers: a model does not need them to recommend products."""
    return _PHONE.sub("[number]", _EMAIL.sub("[address]", text))
