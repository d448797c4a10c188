"""The schema of a table's records, as text: it is passed to the tasks with the options of the reader."""

import json
from dataclasses import asdict, dataclass
from typing import Literal

from headwater.ingest.formats.reader_options import ReaderOptions

SCHEMA_OPTION = "recordSchema"
REGISTRY_OPTION = "registry"

Kind = Literal["avro", "protobuf"]


@dataclass(frozen=True, slots=True)
class RecordSchema:
    """A schema that needs no other one.

    `text` is JSON of Avro, or a FileDescriptorSet in base64; `message` is a message type of the latter.
    `origin` is for messages.
    """

    kind: Kind
    text: str
    origin: str
    message: str = ""

    def to_option(self) -> str:
        """Return the value of `SCHEMA_OPTION`."""
        return json.dumps(asdict(self))

    @classmethod
    def of(cls, options: ReaderOptions) -> "RecordSchema | None":
        """Return the schema in the options of a reader."""
        text = options.text(SCHEMA_OPTION)
        return cls(**json.loads(text)) if text else None
