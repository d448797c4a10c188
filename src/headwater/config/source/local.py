"""`source: {type: local}`: a folder."""

from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, model_validator

from headwater.config.file_paths import resolve_path
from headwater.config.section import Duration
from headwater.config.source.cleaning import CLEAN_DELAY, CLEAN_SOURCE, ensure_usable_cleaning, read_off
from headwater.config.source.section import SourceSection


def _read_local_clean_source(value: object) -> object:
    if value == "tag":
        raise ValueError("'tag' is not supported: files have no tags. Allowed: off, move, delete")
    return read_off(value)


def _resolve_folder(path: Path, info: ValidationInfo) -> Path:
    if ":/" in str(path):
        raise ValueError(
            f"{str(path)!r} is an address, not a folder; for a bucket, set `type: s3` and `bucket`"
        )
    return resolve_path(path, info)


class LocalSourceConfig(SourceSection):
    """Files in a folder, existing and changing."""

    is_watched: ClassVar[bool] = True
    is_listed: ClassVar[bool] = True
    lists_ranges: ClassVar[bool] = False
    location_key: ClassVar[str] = "path"
    queue: ClassVar[None] = None
    # Its watcher fills a queue of its own.
    shared_queue: ClassVar[str] = ""

    type: Literal["local"] = Field(description="A folder on this machine.")
    path: Annotated[Path, AfterValidator(_resolve_folder)] = Field(
        description="Folder to watch; relative to the configuration file.", examples=["landing"]
    )
    moved_from: Annotated[Path, AfterValidator(resolve_path)] | None = Field(
        None,
        description="Previous folder of the files, if they were moved to `path`. They keep their identity "
        "and are not ingested again. Relative to the configuration file.",
        examples=["old-landing"],
    )
    settle_seconds: float = Field(
        1.0, ge=0, le=3600, description="Time without changes, in seconds, before a file is read."
    )
    clean_source: Annotated[
        Literal["off", "move", "delete"],
        BeforeValidator(_read_local_clean_source, json_schema_input_type=Literal["off", "move", "delete"]),
    ] = Field("off", description=CLEAN_SOURCE)
    clean_source_delay: Duration = Field(2_592_000, description=CLEAN_DELAY, examples=["7d"])
    clean_source_move_to: Annotated[Path, AfterValidator(resolve_path)] | None = Field(
        None,
        description="Target folder of `clean_source: move`; relative to the configuration file.",
        examples=["archive"],
    )

    @property
    def prefix(self) -> str:
        """Return the empty prefix: all files of the folder are ingested."""
        return ""

    @property
    def location(self) -> str:
        """Return the folder in which the files are now."""
        return str(self.path)

    @property
    def known_location(self) -> str:
        """Return the folder's name in the lake: moved files keep their original one."""
        return str(self.moved_from or self.path)

    @property
    def address(self) -> str:
        """Return the folder, by its name in the lake."""
        return self.known_location

    @property
    def notified_by(self) -> dict[str, str]:
        """Return the route of notifications: the folder is watched."""
        return {"notifications": "folder"}

    @model_validator(mode="after")
    def _check_clean_source(self) -> "LocalSourceConfig":
        move_to = self.clean_source_move_to
        inside = move_to is not None and move_to.resolve().is_relative_to(self.path.resolve())
        ensure_usable_cleaning(self.clean_source, self.clean_source_delay, move_to, inside)
        return self
