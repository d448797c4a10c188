"""A text's terms and their weights, as indexes store them. Pure."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SparseVector:
    """Term ids and their weights in one text, without IDF. The store applies the IDF of its own points: ln(1
    + (N - n + 0.5) / (n + 0.5))."""

    indices: tuple[int, ...]
    values: tuple[float, ...]
