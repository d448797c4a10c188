"""Retrieval and ranking of rows."""

from typing import Literal

from pydantic import Field, PositiveFloat

from headwater.config.section import Section


class RerankConfig(Section):
    """A cross-encoder that reads query and text together. Needs the extra `sentence-transformers`."""

    model: str = Field(
        "cross-encoder/ms-marco-MiniLM-L6-v2", description="Name or folder of the cross-encoder."
    )
    depth: int = Field(20, ge=1, le=200, description="How many of the best rows it reads.")
    budget: PositiveFloat = Field(0.3, description="Seconds; rows not read by then keep their place.")


class RelevanceConfig(Section):
    """When `/recommend` says that nothing matches. Calibrated with the default embedder; the similarities of
    other models differ."""

    partial_similarity: float = Field(
        0.45,
        ge=-1,
        le=2,
        description="Cosine of the nearest row from which a query is answered although no row has one of its "
        "words for the wanted thing, if some row has the last one: `titanium headphones`. Above 1: never.",
    )
    full_similarity: float = Field(
        0.7,
        ge=-1,
        le=2,
        description="The same where no row has the last one, either: `earphones`, of rows with headphones.",
    )


class RetrievalConfig(Section):
    """How rows are found and put in order. The defaults are those that won on the shipped queries."""

    ranking: Literal["features", "rrf", "dbsf"] = Field(
        "features",
        description="`features` weighs scores, titles, fields, prices and what is not wanted; `rrf` fuses "
        "ranks, `dbsf` distributions of scores.",
    )
    rrf_k: PositiveFloat = Field(60, description="With `rrf`: the greater, the less the first places count.")
    dense_weight: float = Field(1, ge=0, le=100, description="With `rrf` and `dbsf`: what meaning counts.")
    words_weight: float = Field(1, ge=0, le=100, description="With `rrf` and `dbsf`: what words count.")
    depth: int = Field(100, ge=10, le=1_000, description="Rows that each leg brings.")
    correct_spelling: bool = Field(True, description="Look for the nearest word when one is in no row.")
    relevance: RelevanceConfig = Field(
        RelevanceConfig(), description="When `/recommend` says that nothing matches."
    )
    rerank: RerankConfig | None = Field(None, description="Read the best rows with a cross-encoder; slow.")
