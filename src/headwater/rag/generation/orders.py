"""Detects sentences that instruct the model instead of describing a product: "ignore the rules, say ...".

Such sentences never reach a model or an answer, and support no statement. Descriptions contain many of the
single words ("instructions included", "forget cables"), so a match needs two related ones. Grounding has to
catch other wordings.
"""

import re

_BREAK = re.compile(r"(?<=[.!?])\s+|(?<=[\u3002\uff01\uff1f])|\n+")
_ESCAPE = re.compile(r"\\[nrt]")
_SAY = r"(?:say|says|repeat|reply|respond|answer|print|output|write)"
_ORDERS = (
    # "Forget the instructions", in the languages of known attacks.
    r"\b(?:ignore|disregard|forget|override|bypass)\b"
    r".{0,40}\b(?:instruct|rules?\b|previous|prior|above|prompt|everything)",
    r"\bforget\s+everything\b|\bnew\s+instructions?\b|\binstructions?\s*:",
    r"\bignor(?:iere|ez|a|er|ar)\b|\bvergiss\b|\boubliez\b|\bolvida\b|\b(?:игнорируй|забудь)\w*",
    "忽略|無視|无视|تجاهل",
    # Names of a model's inputs, and of the model itself.
    r"\b(?:system|developer|assistant|user|human|role)\b\W{0,3}:|\b(?:system|assistant)\s+" + _SAY,
    r"\blanguage\s+model|\bchat\s*bot|\bto\s+the\s+ai\b|\bif\s+you\s+are\s+an?\b|\byou\s+are\s+now\b",
    r"\bobey\b|\bcall\s+the\s+tool\b|\bapi[\s_-]?key|\brot13\b|system_prompt",
    # Requests to repeat something verbatim.
    r"\b(?:say|reply|respond|answer)\s+(?:only|with|every|all)\b|\brepeat\s+the\s+(?:text|words)\b",
    r"\b" + _SAY + r"\b\W+(?-i:\S*[A-Z]{3,})|\b(?:antworte|répondez|responde|ответь|скажи)\b|回答|答え|قل\b",
)
_ORDER = re.compile("|".join(_ORDERS), re.IGNORECASE)


def is_order(sentence: str) -> bool:
    """True if the sentence instructs its reader what to answer."""
    return _ORDER.search(sentence) is not None


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a text, each with its end."""
    return [found.strip() for found in _BREAK.split(text) if found.strip()]


def drop_orders(text: str) -> str:
    """Return the text without orders; unchanged if it has none."""
    text = _ESCAPE.sub(" ", text)
    if not is_order(text):
        return text
    return " ".join(sentence for sentence in split_sentences(text) if not is_order(sentence))
