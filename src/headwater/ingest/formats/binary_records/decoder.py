"""What decodes one record, whatever its encoding."""

from collections.abc import Mapping
from typing import Protocol

import pyarrow as pa


class RecordDecoder(Protocol):
    """Decodes records of one schema."""

    @property
    def columns(self) -> pa.Schema:
        """The columns, with the types nearest to the schema's."""
        ...

    def decode(self, data: bytes) -> Mapping[str, object]:
        """Return values for the columns. Raises RecordFaultError."""
        ...
