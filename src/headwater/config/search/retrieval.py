"""Retrieval and ranking of rows."""

from typing import Literal

from pydantic import Field, PositiveFloat

from headwater.config.section import Section


class RerankConfig(Section):
    """A cross-encoder, which reads query and text together. Requires the extra `sentence-transformers`."""

    model: str = Field(
        "cross-encoder/ms-marco-MiniLM-L6-v2", description="Name or folder of the cross-encoder."
    )
    depth: int = Field(20, ge=1, le=200, description="Number of top rows to re-rank.")
    budget: PositiveFloat = Field(
        0.3, description="Timeout in seconds; rows not re-ranked by then keep their rank."
    )


class RelevanceConfig(Section):
    """Thresholds below which `/recommend` answers that nothing matches. Calibrated with the default embedder;
    the similarities of other models differ."""

    partial_similarity: float = Field(
        0.45,
        ge=-1,
        le=2,
        description="Minimum cosine similarity of the nearest row, if some row contains the last word of the "
        "wanted thing, but not all words: `titanium headphones`. Above 1: never answer.",
    )
    full_similarity: float = Field(
        0.7,
        ge=-1,
        le=2,
        description="The same if no row contains the last word either: `earphones`, for rows with "
        "headphones.",
    )


class RetrievalConfig(Section):
    """Retrieval and ranking of rows. The defaults performed best on the shipped queries."""

    ranking: Literal["features", "rrf", "dbsf"] = Field(
        "features",
        description="`features` weighs scores, titles, fields, prices and exclusions; `rrf` fuses ranks, "
        "`dbsf` score distributions.",
    )
    rrf_k: PositiveFloat = Field(
        60, description="With `rrf`: rank constant; a greater one lowers the weight of top ranks."
    )
    dense_weight: float = Field(
        1, ge=0, le=100, description="With `rrf` and `dbsf`: weight of the vector search."
    )
    words_weight: float = Field(
        1, ge=0, le=100, description="With `rrf` and `dbsf`: weight of the lexical search."
    )
    depth: int = Field(100, ge=10, le=1_000, description="Candidates per search, vector and lexical.")
    correct_spelling: bool = Field(
        True, description="Correct words that occur in no row to the nearest known word."
    )
    relevance: RelevanceConfig = Field(
        RelevanceConfig(), description="Thresholds below which `/recommend` answers that nothing matches."
    )
    rerank: RerankConfig | None = Field(None, description="Re-rank the top rows with a cross-encoder; slow.")
