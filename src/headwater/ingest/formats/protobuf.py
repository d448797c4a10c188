"""Messages of protobuf, one after the other, or one per object; requires the extra `protobuf`."""

from headwater.ingest.formats.binary_records.reader import BinaryRecordsFormat


class ProtobufFormat(BinaryRecordsFormat):
    """Options: framing (delimited), confluent (false)."""

    kind = "protobuf"
