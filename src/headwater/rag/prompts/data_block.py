"""Delimiters of the data block in a prompt, and the lines of the instructions around it."""

from headwater.rag.prompts import Prompt


def open_line(nonce: str) -> str:
    """Return the line before the data block; `nonce` is new for each request."""
    return f"<<data {nonce}>>"


def close_line(nonce: str) -> str:
    """Return the line after the data block."""
    return f"<<end {nonce}>>"


def house_lines(prompt: Prompt, nonce: str) -> frozenset[str]:
    """Return the lines of the instructions; any other line outside of the data block is not ours."""
    return frozenset(line.strip() for line in prompt.render(nonce).splitlines())
