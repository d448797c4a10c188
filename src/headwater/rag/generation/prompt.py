"""What the model is sent: the house's instructions, and one block of data that no text can get out of."""

import json
import re
from collections.abc import Sequence

from headwater.rag.generation.product import Product
from headwater.rag.generation.sanitizing import clean_text, cut_text
from headwater.rag.language_models.protocol import ChatMessage, JsonSchema
from headwater.rag.prompts import load_prompt
from headwater.rag.prompts.data_block import PROMPT_VERSION, close_line, open_line

MAX_TEXT_CHARACTERS = 700
"""Of one product: a seller cannot crowd out the others."""

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
    """Instructions and data. `nonce` is new for each request, so nobody can have written its lines before."""
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
    # One line without angle brackets: neither a closing line nor a role's mark can be in it.
    block = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c").replace(">", "\\u003e")
    return [
        ChatMessage("system", load_prompt(PROMPT_VERSION).replace("{nonce}", nonce)),
        ChatMessage("user", f"{open_line(nonce)}\n{block}\n{close_line(nonce)}"),
    ]


def redact_person(text: str) -> str:
    """The text without mail addresses and telephone numbers: a model needs neither to choose headphones."""
    return _PHONE.sub("[number]", _EMAIL.sub("[address]", text))
