"""`SourceSection`: the keys that every type of source has."""

from typing import ClassVar

from pydantic import Field

from headwater.config.section import Section


class SourceSection(Section):
    """A bucket or folder; sources of a list have names."""

    # Keys about notifications, in which two sources of the same objects may differ.
    queue_keys: ClassVar[frozenset[str]] = frozenset()

    name: str | None = Field(
        None,
        pattern=r"^[A-Za-z0-9_-]{1,64}$",
        description="Name of the source, for `source` of a table, `--source` and output. Required in a list "
        "of sources.",
        examples=["landing"],
    )
