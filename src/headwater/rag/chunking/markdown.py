"""Chunks along the headings, lists and paragraphs of Markdown."""

from semantic_text_splitter import MarkdownSplitter


class MarkdownChunker:
    """Splits Markdown into chunks; `size` and `overlap` are in characters."""

    def __init__(self, size: int, overlap: int) -> None:
        self._splitter = MarkdownSplitter(size, overlap)

    def split(self, text: str) -> list[str]:
        """Split the text into pieces of at most `size` characters."""
        text = text.strip()
        return self._splitter.chunks(text) if text else []
