"""`TableProposal`: a table that existing files suggest, and what is uncertain about it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from headwater.config.file_format import FileFormat, infer_format


@dataclass(frozen=True, slots=True)
class TableProposal:
    """One table of a first configuration.

    `files` were listed; `read` says how many of them, and of their rows, were read. A `mode` that is empty
    leaves the default. `checks` are sentences about keys, by the key that they precede in the file: reasons
    why a value is uncertain, and alternatives. `facts` are comments on values that are certain.
    """

    name: str
    path: str
    format: FileFormat
    files: int = 0
    read: str = ""
    options: tuple[tuple[str, str], ...] = ()
    mode: str = ""
    record_key: tuple[str, ...] = ()
    ordering: str = ""
    partition_columns: tuple[str, ...] = ()
    alternatives: tuple[str, ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    checks: Mapping[str, str] = field(default_factory=dict)

    @property
    def needs_format(self) -> bool:
        """True if the path's ending does not imply the format."""
        return infer_format(self.path) != self.format
