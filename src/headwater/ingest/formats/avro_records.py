"""Records in Avro's binary encoding without a container, one after the other, or one per object."""

from headwater.ingest.formats.binary_records.reader import BinaryRecordsFormat


class AvroRecordsFormat(BinaryRecordsFormat):
    """Options: framing (delimited), confluent (false)."""

    kind = "avro"
