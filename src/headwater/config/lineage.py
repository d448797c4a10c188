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
    """A collector that is told of each batch of each data table, as events of OpenLineage. It is never in the
    way of a batch: while it does not answer, so many batches wait, and the oldest are dropped then."""

    url: str | None = Field(
        None,
        description="The collector, such as Marquez or DataHub; events are posted to `endpoint` below it. A "
        f"key for it comes from `{API_KEY_VARIABLE}` of the environment.",
        examples=["http://marquez:5000"],
    )
    endpoint: str = Field("api/v1/lineage", min_length=1, description="Path of the collector's API.")
    file: Annotated[Path, AfterValidator(resolve_path)] | None = Field(
        None,
        description="A file on this machine, instead: one event a line as JSON, added at its end; relative "
        "to the configuration file.",
        examples=["lineage.jsonl"],
    )
    namespace: str = Field(
        "headwater",
        min_length=1,
        max_length=255,
        description="Namespace of the jobs; each table is a job of its name. Two lakes with tables of the "
        "same names need two.",
    )
    timeout_seconds: float = Field(
        5, gt=0, le=300, description="How long the collector may take to answer an event."
    )
    max_waiting_batches: int = Field(
        1000, ge=1, le=100_000, description="So many batches wait for a collector that does not answer."
    )

    @model_validator(mode="after")
    def _check_place(self) -> "LineageConfig":
        if self.url is None and self.file is None:
            raise SectionError(
                [((), "neither `url` nor `file`: name the collector, or a file for the events")]
            )
        if self.url is not None and self.file is not None:
            raise SectionError([(("file",), "cannot be beside `url`: leave one of them out")])
        if self.url is not None and not _is_address(self.url):
            text = (
                f"{self.url!r} is no address; it starts with http:// or https://, such as http://marquez:5000"
            )
            raise SectionError([(("url",), text)])
        if self.file is not None:
            given = {"endpoint", "timeout_seconds"} & self.model_fields_set
            if given:
                text = "has no meaning with `file`; only `url` has it"
                raise SectionError([((name,), text) for name in sorted(given)])
        return self


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        # Reading an invalid port raises.
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
