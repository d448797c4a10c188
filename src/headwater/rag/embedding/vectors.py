"""Operations on texts and vectors shared by all embedders. Pure."""

from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from headwater.config.search.index import EmbedderConfig
from headwater.rag.embedding.protocol import Vectors
from headwater.rag.normalising import NORMALISER_VERSION, normalise


def build_name(kind: str, model: str, dimensions: int, config: EmbedderConfig) -> str:
    """Return a name that changes with everything that changes vectors."""
    parts = [kind, model, str(dimensions), f"n{NORMALISER_VERSION}"]
    if config.query_prefix or config.passage_prefix:
        prefixes = f"{config.query_prefix}\x00{config.passage_prefix}".encode("utf-8", "surrogatepass")
        parts.append(f"p{blake2b(prefixes, digest_size=4).hexdigest()}")
    return ":".join(parts)


def prepare(texts: Sequence[str], prefix: str) -> list[str]:
    """Normalise texts and add the prefix; a text without letters and digits stays empty."""
    return [prefix + text if text else "" for text in map(_clean, texts)]


def _clean(text: str) -> str:
    cleaned = normalise(text).strip()
    return cleaned if any(char.isalnum() for char in cleaned) else ""


def embed_known(
    texts: Sequence[str], dimensions: int, embed: Callable[[list[str]], npt.NDArray[np.float32]]
) -> Vectors:
    """Return unit vectors of `dimensions` for prepared texts; zeros where a text is empty.

    `embed` is called with the non-empty texts.
    """
    vectors = np.zeros((len(texts), dimensions), dtype=np.float32)
    known = [number for number, text in enumerate(texts) if text]
    if known:
        raw = np.asarray(embed([texts[number] for number in known]), dtype=np.float32)
        vectors[known] = make_unit(raw[:, :dimensions])
    return vectors


def make_unit(vectors: npt.NDArray[np.float32]) -> Vectors:
    """Scale vectors to length 1; zeros stay zeros."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: Vectors = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return unit


def iter_batches(texts: Sequence[str], size: int, most_characters: int) -> Iterator[list[int]]:
    """Yield batches of text indexes, grouped by length, since a batch is padded to its longest text.

    A batch has at most `size` texts, and `most_characters` including padding, or one text.
    """
    batch: list[int] = []
    for number in sorted(range(len(texts)), key=lambda one: len(texts[one])):
        # Sorted, so this one is the longest so far.
        if batch and (len(batch) == size or (len(batch) + 1) * len(texts[number]) > most_characters):
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch
