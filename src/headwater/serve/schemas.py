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
        description="Conditions that hold for every row found, by field: a value, a list of values of which "
        "one must be met, or an object of `eq`, `ne`, `in`, `not_in`, `lt`, `lte`, `gt`, `gte`.",
        examples=[{"price": {"lte": 50}, "brand": "Acme", "category": ["audio", "sport"]}],
    ),
]


def _check_text(text: str) -> str:
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise PydanticCustomError(
            "query", "half of a surrogate pair is no character", {"code": "query_not_text"}
        )
    plain = remove_hidden(text).strip()
    if not plain:
        raise PydanticCustomError("query", "there is no visible character in it", {"code": "query_empty"})
    return plain


QueryText = Annotated[
    str,
    AfterValidator(_check_text),
    Field(description="What is looked for, in plain words.", examples=["headphones for swimming under 50"]),
]
AsOf = Annotated[
    str,
    Field(
        pattern=r"^([0-9]{17})?$",
        description="Answer as of this instant, `yyyyMMddHHmmssSSS` in UTC: from the newest indexed commit "
        "that is not behind it. Absent: now.",
    ),
]


def _example(**body: Any) -> ConfigDict:
    return ConfigDict(extra="forbid", json_schema_extra={"examples": [body]})


class Request(BaseModel):
    """Unknown keys are refused: a misspelt filter would otherwise find too much."""

    model_config = ConfigDict(extra="forbid")

    query: QueryText
    filters: Filters = {}
    as_of: AsOf = ""
    diversity: float | None = Field(
        None, ge=0, le=1, description="0: most relevant, 1: most unlike each other; absent: as ranked."
    )


class SearchBody(Request):
    """What `POST /search` takes."""

    model_config = _example(query="headphones for swimming", limit=10, filters={"price": {"lte": 60}})

    limit: int = Field(10, ge=1, le=MAX_LIMIT, description="Most rows found.")
    raw_scores: bool = Field(False, description="Scores as the index gives them; for keys of scope `admin`.")


class RecommendBody(Request):
    """What `POST /recommend` takes."""

    model_config = _example(query="headphones for swimming with a great value-to-price ratio")

    limit: int = Field(5, ge=1, le=20, description="Products to choose among.")
    stream: bool = Field(
        False, description="Answer as server-sent events, as with `Accept: text/event-stream`."
    )


class Stamp(BaseModel):
    """How old an answer is, and what it was made from."""

    index_version: str = Field(
        description="Version of the index that was asked; `VERSION@COMMIT` as of an earlier commit."
    )
    as_of: str = Field(
        description="Completion time of the newest commit of the table in what was asked, in UTC."
    )
    lag_seconds: float | None = Field(
        description="The index had all that the lake had this many seconds ago; null when that is not known. "
        "As of an earlier commit: the seconds since then."
    )
    took_ms: float = Field(description="Time in this server.")


RowId = Annotated[str | int, Field(description="What names the row; a number where its column has numbers.")]


class Hit(BaseModel):
    """One row found."""

    id: RowId
    rank: int
    score: float = Field(description="Falls with the rank, from 1; says nothing about other answers.")
    text: str = Field(
        description="The part of the row's text that matched best. Sellers wrote it: escape it."
    )
    fields: Mapping[str, Any]
    matched_terms: list[str]


class SearchAnswer(Stamp):
    """What `POST /search` and `GET /products/{id}/similar` give."""

    hits: list[Hit]
    understood: Mapping[str, str] = Field(
        default={}, description="Conditions and corrections that were read out of the query's words."
    )


class RecommendedProduct(BaseModel):
    """A product that the answer chose among."""

    id: RowId
    matched_content: list[str] = Field(
        description="The parts of the row's text that matched best. Sellers wrote them: escape them."
    )
    title: str
    score: float
    fields: Mapping[str, Any]
    matched_terms: list[str]


class Recommendation(Stamp):
    """What `POST /recommend` gives."""

    success: bool = Field(
        description="Whether there is an answer with at least one product. False: no row is what was asked "
        "for; `products` is empty, and `message` says so."
    )
    query: str
    message: str = Field(description="The answer. Every statement in it was checked against the rows.")
    products: list[RecommendedProduct]
    mode: Literal["llm", "extractive"] = Field(
        description="`extractive`: sentences of the rows themselves, no model."
    )
    degraded: bool = Field(description="A model should have answered and did not, or not to the end.")
    degraded_reason: str = ""
    citations: list[str | int] = Field(description="Ids of the rows that the message speaks of.")
    removed: Mapping[str, int] = Field(
        description="Statements that rows did not bear out, by fault: id, uncited, price, attribute, "
        "off_topic."
    )
    prompt_version: str = ""
    understood: Mapping[str, str] = {}


class Health(BaseModel):
    """What `GET /healthz` gives."""

    status: Literal["ok"] = "ok"


class Readiness(BaseModel):
    """What `GET /readyz` gives."""

    ready: bool
    reason: str = Field(description="Why not; empty when ready.")
    index_version: str
    as_of: str
    lag_seconds: float | None
    ready_lag: float = Field(description="The most that is allowed, in seconds.")
    rows: int = Field(description="Chunks in the index.")


class ProblemBody(BaseModel):
    """`application/problem+json`: every answer that is not a good one."""

    type: str
    title: str
    status: int
    code: str = Field(description="What programs tell problems apart by.")
    request_id: str
    detail: str = ""
    errors: list[Mapping[str, Any]] = Field(default=[], description="Places in the request.")
