"""Chunks along the structure of code for languages with a tree-sitter grammar, else along blank lines."""

from importlib import import_module

from semantic_text_splitter import CodeSplitter, TextSplitter

from headwater.errors import SearchError


class CodeChunker:
    """`size` and `overlap` are characters. `language` names the package `tree_sitter_<language>`."""

    def __init__(self, size: int, overlap: int, language: str | None = None) -> None:
        # Untrimmed: indentation is significant.
        self._splitter = (
            TextSplitter(size, overlap, trim=False)
            if language is None
            else CodeSplitter(_load_grammar(language), size, overlap, trim=False)
        )

    def split(self, text: str) -> list[str]:
        """Split the text into pieces of at most `size` characters."""
        return [piece for piece in self._splitter.chunks(text.strip("\n")) if piece.strip()]


def _load_grammar(language: str) -> object:
    try:
        return import_module(f"tree_sitter_{language}").language()
    except ImportError as error:
        raise SearchError(
            f"search.chunk.language: there is no grammar for {language!r} here",
            hint=f"pip install tree-sitter-{language.replace('_', '-')}, or leave `language` out",
        ) from error
