"""The language model of the answers, and the behaviour of the API."""

import re
from typing import Literal

from pydantic import Field, PositiveFloat, model_validator

from headwater.config.section import Duration, FieldNames, Section, SectionError

_HOST = re.compile(r"(?:\*\.)?[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\*")
LLM_KEY_VARIABLE = "HEADWATER_LLM_API_KEY"


class LanguageModelConfig(Section):
    """The language model that words answers. Without it, or when it fails, answers are extracts, and are
    marked as such.

    The key comes from the environment: HEADWATER_LLM_API_KEY. Set any value for an endpoint without
    authentication.
    """

    type: Literal["openai", "scripted"] = Field(
        "openai",
        description="`openai`: any endpoint with OpenAI's protocol. `scripted`: a stand-in in this process "
        "that concatenates rows, for demos and tests.",
    )
    endpoint: str | None = Field(
        None,
        description="Base URL of the endpoint.",
        examples=["http://localhost:11434/v1"],
    )
    model: str | None = Field(None, description="Name of the model.")
    timeout: PositiveFloat = Field(
        20, description="Timeout in seconds, after which the answer is an extract."
    )
    max_tokens: int = Field(600, ge=16, le=8_192, description="Maximum length of an answer, in tokens.")
    temperature: float = Field(0.2, ge=0, le=2, description="Sampling temperature.")

    @model_validator(mode="after")
    def _check_endpoint(self) -> "LanguageModelConfig":
        missing = [name for name in ("endpoint", "model") if getattr(self, name) is None]
        if self.type == "openai" and missing:
            raise SectionError([((name,), "required with `type: openai`") for name in missing])
        return self


class ServeConfig(Section):
    """The HTTP API. Keys come from the environment: HEADWATER_API_KEYS, comma-separated, as
    `name:sha256-hex[:tenant[:scope]]`."""

    max_query_characters: int = Field(512, ge=16, le=8_192, description="Maximum length of a query.")
    max_body_bytes: int = Field(16_384, ge=1_024, description="Maximum size of a request body.")
    requests_per_minute: int = Field(
        600, ge=1, description="Rate limit per key, or per address without keys."
    )
    concurrency: int = Field(
        16, ge=1, le=1_024, description="Maximum number of concurrent queries; four times as many may wait."
    )
    timeout: PositiveFloat = Field(10, description="Timeout of a search, in seconds.")
    ready_lag: Duration = Field(
        300, description="Maximum lag of the index, in seconds, above which `/readyz` fails."
    )
    sync_interval: Duration = Field(
        2,
        description="Interval at which the server syncs the index with the chunks table; 0 or off: another "
        "process syncs it.",
    )
    reconcile_interval: Duration = Field(
        900,
        description="Interval at which a syncing server compares the whole index with the chunks table; 0 or "
        "off: never.",
    )
    cors_origins: FieldNames = Field((), description="Origins allowed by CORS.")
    allowed_hosts: FieldNames = Field(
        (),
        description="Host names under which the server answers; `*.acme.example` allows all subdomains. "
        "Default: any.",
        examples=[["search.acme.example", "localhost"]],
    )

    @model_validator(mode="after")
    def _check_hosts(self) -> "ServeConfig":
        wrong = [host for host in self.allowed_hosts if not _HOST.fullmatch(host)]
        if wrong:
            text = f"{wrong[0]!r} is not a host name. Specify names without scheme and port"
            raise SectionError([(("allowed_hosts",), text)])
        return self
