"""The language model of the answers, and the behaviour of the API."""

from typing import Literal

from pydantic import Field, PositiveFloat, model_validator

from headwater.config.section import Duration, FieldNames, Section, SectionError

LLM_KEY_VARIABLE = "HEADWATER_LLM_API_KEY"


class LanguageModelConfig(Section):
    """Who words the answers. Without it, or when it fails, answers are extracts, and say so.

    The key comes from the environment: HEADWATER_LLM_API_KEY. An endpoint that wants none gets any word.
    """

    type: Literal["openai", "scripted"] = Field(
        "openai",
        description="`openai`: any endpoint that speaks its protocol; `scripted`: a stand-in inside this "
        "process that strings rows together, for demos and tests.",
    )
    endpoint: str | None = Field(
        None,
        description="Base URL of anything that speaks OpenAI's protocol.",
        examples=["http://localhost:11434/v1"],
    )
    model: str | None = Field(None, description="The model's name there.")
    timeout: PositiveFloat = Field(20, description="Seconds until an extract is given instead.")
    max_tokens: int = Field(600, ge=16, le=8_192, description="Longest answer.")
    temperature: float = Field(0.2, ge=0, le=2, description="How freely it words.")

    @model_validator(mode="after")
    def _check_endpoint(self) -> "LanguageModelConfig":
        missing = [name for name in ("endpoint", "model") if getattr(self, name) is None]
        if self.type == "openai" and missing:
            raise SectionError([((name,), "required with `type: openai`") for name in missing])
        return self


class ServeConfig(Section):
    """The API. Keys come from the environment: HEADWATER_API_KEYS, comma separated, as
    `name:sha256-hex[:tenant[:scope]]`."""

    max_query_characters: int = Field(512, ge=16, le=8_192, description="Longer queries are refused.")
    max_body_bytes: int = Field(16_384, ge=1_024, description="Larger bodies are refused.")
    requests_per_minute: int = Field(600, ge=1, description="Of one key, or of one address without keys.")
    concurrency: int = Field(
        16, ge=1, le=1_024, description="Queries answered at a time; four times as many may wait."
    )
    timeout: PositiveFloat = Field(10, description="Seconds for one search.")
    ready_lag: Duration = Field(300, description="`/readyz` says no when the index is older than this.")
    sync_interval: Duration = Field(
        2,
        description="How often the server brings the index up to the chunks; 0 or off: another process does.",
    )
    reconcile_interval: Duration = Field(
        900, description="How often it compares index and chunks as a whole, if it syncs; 0 or off: never."
    )
    cors_origins: FieldNames = Field((), description="Origins whose pages may ask.")
