"""Prompt files. A changed prompt is a new file: answers name the prompt version that produced them."""

from functools import cache
from importlib.resources import files

RECOMMEND = "recommend_v1"


@cache
def load_prompt(version: str) -> str:
    """Return the text of a prompt; `{nonce}` is the placeholder of each request's delimiter."""
    return files(__package__).joinpath(f"{version}.md").read_text("utf-8")
