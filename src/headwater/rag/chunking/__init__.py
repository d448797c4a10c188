"""Chunking of texts: by characters, by a model's tokens, along Markdown or along code."""

from headwater.config.search.index import ChunkConfig
from headwater.rag.chunking.protocol import Chunker


def build_chunker(config: ChunkConfig) -> Chunker:
    """Build the configured chunker. Raises `SearchError` for a language without an installed parser."""
    if config.by == "tokens":
        from headwater.rag.chunking.tokens import TokenChunker

        return TokenChunker(config.size, config.overlap)
    if config.by == "markdown":
        from headwater.rag.chunking.markdown import MarkdownChunker

        return MarkdownChunker(config.size, config.overlap)
    if config.by == "code":
        from headwater.rag.chunking.code import CodeChunker

        return CodeChunker(config.size, config.overlap, config.language)
    from headwater.rag.chunking.characters import CharacterChunker

    return CharacterChunker(config.size, config.overlap)


__all__ = ["Chunker", "build_chunker"]
