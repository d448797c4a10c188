"""The indexed table, its text, the embedding model and the vector store."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal
from urllib.parse import parse_qs, urlsplit

from pydantic import BeforeValidator, Field, PositiveFloat, model_validator

from headwater.config.search.answer import AnswerConfig
from headwater.config.search.page import MAX_EXAMPLES, PageConfig
from headwater.config.search.retrieval import RetrievalConfig
from headwater.config.search.serving import LanguageModelConfig, ServeConfig
from headwater.config.section import Duration, FieldNames, Section, SectionError

_SERVERS = ("qdrant", "pgvector")
_POSTGRES_SCHEMES = ("postgresql://", "postgres://")
_MAX_SCHEMA_CHARACTERS = 63


def order_by_weight(columns: Mapping[str, float]) -> list[str]:
    """Return the columns by descending weight; equal weights in the given order."""
    return sorted(columns, key=lambda name: -columns[name])


def _weigh_names(value: object) -> object:
    # `[title, description]` gives all columns the same weight.
    if isinstance(value, str):
        value = [value]
    return dict.fromkeys(value, 1.0) if isinstance(value, (list, tuple)) else value


ColumnWeights = Annotated[dict[str, PositiveFloat], BeforeValidator(_weigh_names), Field(min_length=1)]


class ChunkConfig(Section):
    """Chunking of a row's text."""

    by: Literal["characters", "tokens", "markdown", "code"] = Field(
        "characters", description="Unit of `size`, or structure that chunks follow."
    )
    size: int = Field(1_200, ge=50, le=20_000, description="Maximum size of a chunk.")
    overlap: int = Field(0, ge=0, description="Overlap with the previous chunk.")
    language: str | None = Field(
        None,
        pattern=r"^[a-z][a-z0-9_]*$",
        description="With `by: code`: language with an installed tree-sitter grammar. Default: split at "
        "blank lines.",
    )

    @model_validator(mode="after")
    def _check_overlap(self) -> "ChunkConfig":
        if self.overlap >= self.size:
            text = f"{self.overlap} must be less than `size` ({self.size})"
            raise SectionError([(("overlap",), text)])
        return self


class EmbedderConfig(Section):
    """The embedding model."""

    type: Literal["wordllama", "hashing", "sentence_transformers", "fastembed", "openai"] = Field(
        "wordllama",
        description="`wordllama` ships its weights; `hashing` ignores meaning and is for tests; `openai` is "
        "any endpoint with OpenAI's protocol.",
    )
    model: str | None = Field(None, description="Name or folder of the model. Default: depends on the type.")
    endpoint: str | None = Field(None, description="With `openai`: base URL of the endpoint.")
    dimensions: int | None = Field(
        None, ge=8, le=8_192, description="Number of dimensions to which vectors are truncated."
    )
    query_prefix: str = Field("", description="Prefix of queries, as some models require.")
    passage_prefix: str = Field("", description="Prefix of a row's text, as some models require.")
    batch_size: int = Field(256, ge=1, le=4_096, description="Number of texts per call.")
    timeout: PositiveFloat = Field(30, description="With `openai`: timeout of a call, in seconds.")


class StoreConfig(Section):
    """The vector store of the index."""

    type: Literal["local", "qdrant", "pgvector", "memory"] = Field(
        "local",
        description="`local`: a folder, for one server; `qdrant`: a Qdrant server; `pgvector`: a PostgreSQL "
        "server; `memory`: this process only, not persistent.",
    )
    url: str | None = Field(
        None,
        description="With `qdrant` and `pgvector`: URL of the server, without a password.",
        examples=["http://localhost:6333", "postgresql://headwater@localhost:5432/search"],
    )
    prefer_grpc: bool = Field(False, description="With `qdrant`: use gRPC.")
    path: str | None = Field(
        None,
        description="With `local`: folder of the index. Default: `_headwater/index` in a lake that is a "
        "folder.",
    )
    collection: str = Field(
        "headwater",
        pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,100}$",
        description="Name of the index on the server or in the folder: with `qdrant`, the alias of the live "
        "version; with `pgvector`, the schema.",
    )

    @property
    def is_server(self) -> bool:
        """True if several processes can use the store."""
        return self.type in _SERVERS

    @model_validator(mode="after")
    def _check_url(self) -> "StoreConfig":
        if self.is_server != (self.url is not None):
            text = "`url` and `type: qdrant` or `type: pgvector` require each other"
            raise SectionError([(("url",), text)])
        if self.type == "pgvector":
            self._check_database(self.url or "")
        return self

    def _check_database(self, url: str) -> None:
        if not url.startswith(_POSTGRES_SCHEMES):
            text = f"must begin with {_POSTGRES_SCHEMES[0]}, as in postgresql://USER@HOST:5432/DATABASE"
            raise SectionError([(("url",), text)])
        parts = urlsplit(url)
        if parts.password is not None or any("password" in name for name in parse_qs(parts.query)):
            text = (
                "must not contain a password; set HEADWATER_PGVECTOR_PASSWORD, or use libpq's password file"
            )
            raise SectionError([(("url",), text)])
        if len(self.collection) > _MAX_SCHEMA_CHARACTERS or self.collection.startswith("pg_"):
            text = (
                f"must not begin with pg_ or be longer than {_MAX_SCHEMA_CHARACTERS} characters, as a schema"
            )
            raise SectionError([(("collection",), text)])


class SearchConfig(Section):
    """The search index and its API."""

    table: str = Field(description="Data table to index.")
    text: ColumnWeights = Field(
        description="Columns with searchable text: a list, or `column: weight`.",
        examples=[["title", "description"], {"title": 3, "description": 1}],
    )
    id: str | None = Field(
        None,
        description="Column that identifies a row in answers. Default: the `record_key`, else object and "
        "row.",
    )
    fields: FieldNames = Field(
        (),
        description="Columns kept for filters and answers. Default: all scalar columns except those of "
        "`text`.",
    )
    where: str | None = Field(None, description="SQL condition for the rows to index.", examples=["in_stock"])
    tenant: str | None = Field(
        None, description="Column with the tenant of a row; queries are then limited to a tenant."
    )
    chunk: ChunkConfig = Field(ChunkConfig(), description="Chunking of long texts.")
    keep_commits: int = Field(
        10,
        ge=10,
        le=1_000,
        description="Minimum number of commits that queries with `as_of` can go back. More commits take more "
        "space: the changed parts of the chunks table are kept once per twenty commits.",
    )
    chunks_interval: Duration | None = Field(
        None,
        description="Minimum time between two commits of the chunks table. A server that syncs its index "
        "reads newer rows from the data table itself, except with `where`. Default: 10 seconds; with "
        "`where`: 0.",
    )
    embedder: EmbedderConfig = Field(EmbedderConfig(), description="Embedding model of texts and queries.")
    store: StoreConfig = Field(StoreConfig(), description="Vector store of the index.")
    retrieval: RetrievalConfig = Field(RetrievalConfig(), description="Retrieval and ranking of rows.")
    language_model: LanguageModelConfig | None = Field(
        None, description="The language model that words answers."
    )
    answer: AnswerConfig = Field(AnswerConfig(), description="The wording of answers.")
    page: PageConfig = Field(PageConfig(), description="The look of products on the page.")
    serve: ServeConfig = Field(ServeConfig(), description="The HTTP API.")

    @property
    def title_columns(self) -> list[str]:
        """Return the columns with the name of a row: the first that a row has, on the page and in answers."""
        return [*((self.page.title,) if self.page.title else ()), *order_by_weight(self.text)]

    @model_validator(mode="after")
    def _check_page(self) -> "SearchConfig":
        problems = [*self._iter_column_problems(), *self._iter_example_problems()]
        if problems:
            raise SectionError([(("page", key), text) for key, text in problems])
        return self

    def _iter_column_problems(self) -> Iterator[tuple[str, str]]:
        """Yield the columns of the page that the index does not have."""
        title, *_ = order_by_weight(self.text)
        for key, name in self.page.iter_columns():
            if (key, name) == ("title", title):
                continue
            if self.fields:
                if not any(f"{name}.".startswith(f"{field}.") for field in self.fields):
                    yield key, f"{name!r} is not one of `search.fields`; add it there"
            elif name in self.text:
                yield key, f"{name!r} is a column of `search.text`; list it in `search.fields`, too"

    def _iter_example_problems(self) -> Iterator[tuple[str, str]]:
        examples, allowed = self.page.examples, self.serve.max_query_characters
        if len(examples) > MAX_EXAMPLES:
            yield "examples", f"{len(examples)} questions; the limit is {MAX_EXAMPLES}"
        for example in examples:
            if not 1 <= len(example.strip()) <= allowed:
                text = f"{example[:40]!r}: a question has 1 to {allowed} characters"
                yield "examples", text
