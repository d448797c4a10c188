"""How rows are found and put in order."""

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
    rerank: RerankConfig | None = Field(None, description="Read the best rows with a cross-encoder; slow.")
