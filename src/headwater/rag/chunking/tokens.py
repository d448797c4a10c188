"""Chunks by number of tokens of the default model."""

from importlib.util import find_spec
from pathlib import Path

from semantic_text_splitter import TextSplitter
from tokenizers import Tokenizer

from headwater.errors import SearchError


class TokenChunker:
    """Splits text into chunks; `size` and `overlap` are in tokens of `wordllama`.

    Other models have similar token counts.
    """

    def __init__(self, size: int, overlap: int) -> None:
        self._size = size
        tokenizer = _load_tokenizer()
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self._splitter = TextSplitter.from_huggingface_tokenizer(tokenizer, size, overlap)

    def split(self, text: str) -> list[str]:
        """Split the text into pieces of at most `size` tokens."""
        text = text.strip()
        return self._splitter.chunks(text) if text else []


def _load_tokenizer() -> Tokenizer:
    # Importing the package takes a second, and only its data is needed.
    package = find_spec("wordllama")
    if package is None or package.origin is None:
        raise ModuleNotFoundError("No module named 'wordllama'", name="wordllama")
    folder = Path(package.origin).parent / "tokenizers"
    found = sorted(folder.glob("*.json"))
    if not found:
        raise SearchError(
            f"no tokenizer found in {folder}", hint="reinstall wordllama, or set search.chunk.by: characters"
        )
    return Tokenizer.from_file(str(found[0]))
