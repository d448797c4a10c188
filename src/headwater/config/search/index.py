"""Which table is indexed: from which text, with which model, in which store."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, PositiveFloat, model_validator

from headwater.config.search.retrieval import RetrievalConfig
from headwater.config.search.serving import LanguageModelConfig, ServeConfig
from headwater.config.section import FieldNames, Section, SectionError


def _weigh_names(value: object) -> object:
    # `[title, description]` gives all columns the same weight.
    if isinstance(value, str):
        value = [value]
    return dict.fromkeys(value, 1.0) if isinstance(value, (list, tuple)) else value


ColumnWeights = Annotated[dict[str, PositiveFloat], BeforeValidator(_weigh_names), Field(min_length=1)]


class ChunkConfig(Section):
    """How the text of one row is cut."""

    by: Literal["characters", "tokens", "markdown", "code"] = Field(
        "characters", description="What `size` counts, or whose structure is followed."
    )
    size: int = Field(1_200, ge=50, le=20_000, description="Most that one chunk holds.")
    overlap: int = Field(0, ge=0, description="How much of the chunk before a chunk repeats.")
    language: str | None = Field(
        None,
        pattern=r"^[a-z][a-z0-9_]*$",
        description="With `by: code`: language whose tree-sitter grammar is installed; default: blank lines.",
    )

    @model_validator(mode="after")
    def _check_overlap(self) -> "ChunkConfig":
        if self.overlap >= self.size:
            text = f"{self.overlap} is not less than size ({self.size}): chunks would never get ahead"
            raise SectionError([(("overlap",), text)])
        return self


class EmbedderConfig(Section):
    """The model that turns text into vectors."""

    type: Literal["wordllama", "hashing", "sentence_transformers", "fastembed", "openai"] = Field(
        "wordllama",
        description="`wordllama` needs nothing but its package; `hashing` knows no words and is for tests; "
        "`openai` is any endpoint that speaks its protocol.",
    )
    model: str | None = Field(None, description="Name or folder of the model; default: the type's own.")
    endpoint: str | None = Field(None, description="With `openai`: the base URL.")
    dimensions: int | None = Field(None, ge=8, le=8_192, description="Shorten vectors to this.")
    query_prefix: str = Field("", description="Put before a query, as some models ask.")
    passage_prefix: str = Field("", description="Put before a row's text, as some models ask.")
    batch_size: int = Field(256, ge=1, le=4_096, description="Texts embedded in one call.")
    timeout: PositiveFloat = Field(30, description="With `openai`: seconds for one call.")


class StoreConfig(Section):
    """Where the index lies."""

    type: Literal["local", "qdrant", "memory"] = Field(
        "local",
        description="`local`: a folder, for one process; `qdrant`: a server; `memory`: gone at the end.",
    )
    url: str | None = Field(
        None, description="With `qdrant`: where the server is.", examples=["http://localhost:6333"]
    )
    prefer_grpc: bool = Field(False, description="With `qdrant`: speak gRPC.")
    path: str | None = Field(
        None, description="With `local`: the folder; default: `_headwater/index` in a lake that is a folder."
    )
    collection: str = Field(
        "headwater", pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,100}$", description="Name that searches ask for."
    )

    @model_validator(mode="after")
    def _check_url(self) -> "StoreConfig":
        if (self.type == "qdrant") != (self.url is not None):
            raise SectionError([(("url",), "`url` and `type: qdrant` belong together")])
        return self


class SearchConfig(Section):
    """What is searched."""

    table: str = Field(description="The data table whose rows are found.")
    text: ColumnWeights = Field(
        description="Columns whose text is searched: a list, or `column: weight`.",
        examples=[["title", "description"], {"title": 3, "description": 1}],
    )
    id: str | None = Field(
        None,
        description="Column that names a row in answers; default: the `record_key`, else object and row.",
    )
    fields: FieldNames = Field(
        (),
        description="Columns kept for filters and answers; default: all plain columns but those of `text`.",
    )
    where: str | None = Field(
        None, description="SQL condition on the table's rows: others are not indexed.", examples=["in_stock"]
    )
    tenant: str | None = Field(
        None, description="Column that says whose row it is; queries then name a tenant."
    )
    chunk: ChunkConfig = Field(ChunkConfig(), description="How long texts are cut.")
    keep_commits: int = Field(
        10,
        ge=10,
        le=1_000,
        description="So many commits back at least, answers can be asked for `as_of` then. More take more "
        "space: the changed parts of the chunks table are kept once for every twenty commits.",
    )
    embedder: EmbedderConfig = Field(EmbedderConfig(), description="Text to vector.")
    store: StoreConfig = Field(StoreConfig(), description="What keeps the index, and where.")
    retrieval: RetrievalConfig = Field(RetrievalConfig(), description="How rows are found and ordered.")
    language_model: LanguageModelConfig | None = Field(None, description="Who words the answers.")
    serve: ServeConfig = Field(ServeConfig(), description="The API.")
