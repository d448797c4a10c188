"""Prompt files. A changed prompt is a new file: answers name the version that they were worded with."""

from functools import cache
from importlib.resources import files

RECOMMEND = "recommend_v1"


@cache
def load_prompt(version: str) -> str:
    """The text of a prompt; `{nonce}` stands where each request's own delimiter goes."""
    return files(__package__).joinpath(f"{version}.md").read_text("utf-8")
