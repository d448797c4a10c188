"""Delimiters of the data block in a prompt, and the lines of the instructions around it."""

from headwater.rag.prompts import RECOMMEND, load_prompt

PROMPT_VERSION = RECOMMEND


def open_line(nonce: str) -> str:
    """The line before the data block; `nonce` is new for each request."""
    return f"<<data {nonce}>>"


def close_line(nonce: str) -> str:
    """The line after the data block."""
    return f"<<end {nonce}>>"


def house_lines(nonce: str) -> frozenset[str]:
    """The lines of the instructions; any other line outside of the data block is not ours."""
    return frozenset(load_prompt(PROMPT_VERSION).replace("{nonce}", nonce).splitlines())
