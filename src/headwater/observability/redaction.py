"""Detects secrets by name or by value. The configuration rejects them in files; logs and JSON redact them."""

import re
from itertools import pairwise

REDACTED = "***"

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SECRET_WORDS = frozenset(
    {"password", "passwd", "passphrase", "secret", "token", "apikey", "accesskey", "secretkey"}
)
_SECRET_PAIRS = frozenset(
    {
        *(("access", "key"), ("secret", "key"), ("private", "key"), ("account", "key"), ("api", "key")),
        # Of Kafka's Java client: user and password.
        ("jaas", "config"),
    }
)
# `fs.s3a.aws.credentials.provider`, `oauthTokenFile`, `token_ttl`: about a secret, not one.
_HARMLESS_ENDINGS = frozenset(
    {
        "provider",
        "providers",
        "file",
        "path",
        "class",
        "enabled",
        "enable",
        "arn",
        "ttl",
        "duration",
        "seconds",
    }
)
_ACCESS_KEY_ID = re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b")
_URL_CREDENTIALS = re.compile(r"(?<=://)[^/\s:@]+:[^/\s@]+(?=@)")
_SIGNATURE = re.compile(r"(?i)(?<=X-Amz-Signature=)[0-9a-f]+|(?<=X-Amz-Security-Token=)[^&\s]+")
_VALUE_PATTERNS = (_ACCESS_KEY_ID, _URL_CREDENTIALS, _SIGNATURE)


def is_secret_name(name: str) -> bool:
    """True if a key such as `fs.s3a.secret.key` or `sessionToken` names a secret."""
    words = [word.lower() for word in _WORD.findall(name)]
    if not words or words[-1] in _HARMLESS_ENDINGS:
        return False
    return not _SECRET_WORDS.isdisjoint(words) or not _SECRET_PAIRS.isdisjoint(pairwise(words))


def holds_secret(text: str) -> bool:
    """True if a text contains an access key id, a URL with a password or a request signature."""
    return any(pattern.search(text) for pattern in _VALUE_PATTERNS)


def redact_text(text: str) -> str:
    """Return the text with secrets replaced that are recognisable by shape."""
    for pattern in _VALUE_PATTERNS:
        text = pattern.sub(REDACTED, text)
    return text


def redact(value: object, name: str = "") -> object:
    """Return a copy of JSON-like data in which every secret, by name or by shape, is replaced."""
    if isinstance(value, dict):
        return {key: redact(item, str(key)) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [redact(item, name) for item in value]
    if value is not None and is_secret_name(name):
        return REDACTED
    return redact_text(value) if isinstance(value, str) else value
