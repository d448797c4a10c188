"""Chunks along the structure of code for languages with a tree-sitter grammar, else along blank lines."""

from importlib import import_module

from semantic_text_splitter import CodeSplitter, TextSplitter

from headwater.errors import SearchError


class CodeChunker:
    """Splits code into chunks; `size` and `overlap` are in characters.

    `language` selects the grammar in the package `tree_sitter_<language>`.
    """

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
            f"search.chunk.language: no tree-sitter grammar installed for {language!r}",
            hint=f"pip install tree-sitter-{language.replace('_', '-')}, or omit `language`",
        ) from error
