"""Request and response models. Their descriptions become the reference page."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError

from headwater.rag.generation.sanitizing import remove_hidden

MAX_LIMIT = 50
Scalar = str | int | float | bool
Filters = Annotated[
    dict[str, Any],
    Field(
        description="Conditions that every returned row meets, by field: a value, a list of values of which "
        "one must match, or an object with `eq`, `ne`, `in`, `not_in`, `lt`, `lte`, `gt` or `gte`.",
        examples=[{"price": {"lte": 50}, "brand": "Acme", "category": ["audio", "sport"]}],
    ),
]


def _check_text(text: str) -> str:
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise PydanticCustomError("query", "the query has an unpaired surrogate", {"code": "query_not_text"})
    plain = remove_hidden(text).strip()
    if not plain:
        raise PydanticCustomError("query", "the query has no visible character", {"code": "query_empty"})
    return plain


QueryText = Annotated[
    str,
    AfterValidator(_check_text),
    Field(
        description="The question or search terms, in plain language.",
        examples=["headphones for swimming under 50"],
    ),
]
AsOf = Annotated[
    str,
    Field(
        pattern=r"^([0-9]{17})?$",
        description="Answer as of this instant, `yyyyMMddHHmmssSSS` in UTC: from the newest indexed commit "
        "at or before it. Default: now.",
    ),
]


def _example(**body: Any) -> ConfigDict:
    return ConfigDict(extra="forbid", json_schema_extra={"examples": [body]})


class Request(BaseModel):
    """Unknown keys are rejected: a misspelt filter would otherwise match too many rows."""

    model_config = ConfigDict(extra="forbid")

    query: QueryText
    filters: Filters = {}
    as_of: AsOf = ""
    similarity_threshold: float | None = Field(
        None,
        ge=-1,
        le=1,
        description="Minimum cosine similarity of a row to the query. Default: no minimum for rows, and "
        "`search.retrieval.relevance` decides whether `/recommend` answers.",
    )
    diversity: float | None = Field(
        None, ge=0, le=1, description="0: most relevant rows; 1: most diverse rows; default: as ranked."
    )


class SearchBody(Request):
    """Request body of `POST /search`."""

    model_config = _example(query="headphones for swimming", limit=10, filters={"price": {"lte": 60}})

    limit: int = Field(10, ge=1, le=MAX_LIMIT, description="Maximum number of rows.")
    raw_scores: bool = Field(
        False, description="Return the scores of the index; requires a key with scope `admin`."
    )


class RecommendBody(Request):
    """Request body of `POST /recommend`."""

    model_config = _example(query="headphones for swimming with a great value-to-price ratio")

    limit: int = Field(5, ge=1, le=20, description="Maximum number of products to choose from.")
    stream: bool = Field(
        False, description="Send the answer as server-sent events, as with `Accept: text/event-stream`."
    )


class Stamp(BaseModel):
    """Age of an answer, and the index version that it is based on."""

    index_version: str = Field(
        description="Version of the index that was searched; `VERSION@COMMIT` as of an earlier commit."
    )
    as_of: str = Field(
        description="Completion time, in UTC, of the newest table commit in the searched index."
    )
    lag_seconds: float | None = Field(
        description="The index has all that the lake had this many seconds ago; null if unknown. "
        "As of an earlier commit: seconds since that commit."
    )
    took_ms: float = Field(description="Processing time in this server, in milliseconds.")


RowId = Annotated[str | int, Field(description="ID of the row; a number if its column has numbers.")]


class Hit(BaseModel):
    """One matching row."""

    id: RowId
    rank: int
    score: float = Field(
        description="Decreases with the rank, starting at 1; not comparable between answers."
    )
    text: str = Field(
        description="The best-matching part of the row's text, untrusted seller content: escape it."
    )
    fields: Mapping[str, Any]
    matched_terms: list[str]


class SearchAnswer(Stamp):
    """Response of `POST /search` and `GET /products/{id}/similar`."""

    hits: list[Hit]
    understood: Mapping[str, str] = Field(
        default={}, description="Conditions and corrections that were derived from the words of the query."
    )


class RecommendedProduct(BaseModel):
    """A product from which the answer was chosen."""

    id: RowId
    matched_content: list[str] = Field(
        description="The best-matching parts of the row's text, untrusted seller content: escape them."
    )
    title: str
    score: float
    fields: Mapping[str, Any]
    matched_terms: list[str]


class Recommendation(Stamp):
    """Response of `POST /recommend`."""

    success: bool = Field(
        description="Whether the answer has at least one product. False: no row matches the question; "
        "`products` is empty, and `message` states this."
    )
    query: str
    message: str = Field(
        description="The answer: facts of the rows, or statements that were checked against them."
    )
    products: list[RecommendedProduct]
    mode: Literal["llm", "extractive"] = Field(
        description="`extractive`: sentences from the rows themselves, without a language model."
    )
    degraded: bool = Field(
        description="Whether a configured language model failed to answer, or was interrupted."
    )
    degraded_reason: str = ""
    citations: list[str | int] = Field(description="IDs of the rows that the message refers to.")
    removed: Mapping[str, int] = Field(
        description="Parts of the model's answer that were removed because the rows do not support them, by "
        "fault: id, uncited, fact, price, attribute, word, order."
    )
    prompt_version: str = Field(
        "", description="Name of the prompt, and a hash of its content; empty without a language model."
    )
    understood: Mapping[str, str] = {}


class Health(BaseModel):
    """Response of `GET /healthz`."""

    status: Literal["ok"] = "ok"


class Readiness(BaseModel):
    """Response of `GET /readyz`."""

    ready: bool
    reason: str = Field(description="Why the server is not ready; empty if it is.")
    index_version: str
    as_of: str
    lag_seconds: float | None
    ready_lag: float = Field(description="Maximum lag of a ready server, in seconds.")
    rows: int = Field(description="Number of chunks in the index.")


class ProblemBody(BaseModel):
    """Body of every error response: `application/problem+json`."""

    type: str
    title: str
    status: int
    code: str = Field(description="Identifies the kind of problem for programs.")
    request_id: str
    detail: str = ""
    errors: list[Mapping[str, Any]] = Field(
        default=[], description="Locations in the request, with the error or the allowed values."
    )
