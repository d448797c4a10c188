"""`lineage:` the collector that receives the lineage of each batch."""

from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from headwater.config.file_paths import resolve_path
from headwater.config.section import Section, SectionError

API_KEY_VARIABLE = "OPENLINEAGE_API_KEY"
"""The environment variable with the collector's key, as in OpenLineage's own clients."""


class LineageConfig(Section):
    """A collector that receives an OpenLineage event for each batch of each data table. It never blocks a
    batch: while it is unavailable, events are buffered, up to a limit; then the oldest are dropped."""

    url: str | None = Field(
        None,
        description="URL of the collector, such as Marquez or DataHub; events are posted to its `endpoint`. "
        f"Its API key comes from the environment variable `{API_KEY_VARIABLE}`.",
        examples=["http://marquez:5000"],
    )
    endpoint: str = Field("api/v1/lineage", min_length=1, description="Path of the collector's API.")
    file: Annotated[Path, AfterValidator(resolve_path)] | None = Field(
        None,
        description="File to append events to instead, one JSON document per line; relative to the "
        "configuration file.",
        examples=["lineage.jsonl"],
    )
    namespace: str = Field(
        "headwater",
        min_length=1,
        max_length=255,
        description="Namespace of the jobs; each table is one job. Lakes with equal table names require "
        "different namespaces.",
    )
    timeout_seconds: float = Field(5, gt=0, le=300, description="Timeout of a request, in seconds.")
    max_waiting_batches: int = Field(
        1000,
        ge=1,
        le=100_000,
        description="Maximum number of batches to buffer while the collector is unavailable.",
    )

    @model_validator(mode="after")
    def _check_destination(self) -> "LineageConfig":
        if self.url is None and self.file is None:
            raise SectionError(
                [((), "neither `url` nor `file` is set; specify the collector's URL, or a file")]
            )
        if self.url is not None and self.file is not None:
            raise SectionError([(("file",), "cannot be combined with `url`; remove one of them")])
        if self.url is not None and not _is_address(self.url):
            text = f"{self.url!r} is not a valid URL; write, for example, http://marquez:5000"
            raise SectionError([(("url",), text)])
        if self.file is not None:
            given = {"endpoint", "timeout_seconds"} & self.model_fields_set
            if given:
                text = "not applicable with `file`; only with `url`"
                raise SectionError([((name,), text) for name in sorted(given)])
        return self


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        # Reading an invalid port raises.
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
