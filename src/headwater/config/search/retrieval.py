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
    """When `/recommend` answers that nothing matches."""

    min_confidence: float = Field(
        0.8,
        ge=0,
        le=1,
        description="Minimum confidence that the best rows are what the query asks for. It rises with the "
        "similarity of the nearest row and with the share of the query's words in the best row. 0: answer "
        "always; 1: never.",
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
        True,
        description="Correct words that occur in no row to the nearest known word, up to four in a query.",
    )
    relevance: RelevanceConfig = Field(
        RelevanceConfig(), description="Confidence below which `/recommend` answers that nothing matches."
    )
    rerank: RerankConfig | None = Field(None, description="Re-rank the top rows with a cross-encoder; slow.")
