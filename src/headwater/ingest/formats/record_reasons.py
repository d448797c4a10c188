"""Reasons why a record cannot become a row, and their texts. Pure."""

from headwater.ingest.formats import markers

UNPARSABLE = "unparsable"
OUT_OF_RANGE = "out_of_range"
UNDECODABLE = markers.REASONS[markers.UNDECODABLE]
REPEATED_NAME = markers.REASONS[markers.REPEATED_NAME]
OVERSIZE = markers.REASONS[markers.OVERSIZE]
UNKNOWN_CHANGE = markers.REASONS[markers.UNKNOWN_CHANGE]
NO_ROW = markers.REASONS[markers.NO_ROW]
UNAVAILABLE_VALUE = markers.REASONS[markers.UNAVAILABLE_VALUE]
BAD_SEQUENCE = markers.REASONS[markers.BAD_SEQUENCE]
BAD_RECORD = markers.REASONS[markers.BAD_RECORD]
UNKNOWN_SCHEMA = markers.REASONS[markers.UNKNOWN_SCHEMA]
TOMBSTONE = markers.REASONS[markers.TOMBSTONE]
EXPIRED = markers.REASONS[markers.EXPIRED]
LATE_CHANGE = "late_change"
MISSING_KEY = "missing_key"
MISSING_ORDERING = "missing_ordering"
BAD_VECTOR = "bad_vector"
FAILED_CHECK = "failed_check"
AMBIGUOUS_KEY = "ambiguous_key"
BAD_PARTITION = "bad_partition"

DETAILS = {
    OUT_OF_RANGE: "has a time outside the years 1 to 9999: see the reader option `epochUnit`",
    UNDECODABLE: "has bytes that cannot be decoded in the table's encoding: see the reader option `encoding`",
    REPEATED_NAME: "names a field twice, possibly in two spellings, so that its value is ambiguous",
    OVERSIZE: "is larger than the table's `max_record_bytes`",
    UNPARSABLE: "does not fit the table's columns",
    MISSING_KEY: "has no value in the record key fields",
    MISSING_ORDERING: "has no value in an ordering field",
    UNKNOWN_CHANGE: "has an operation that `changes` of the table does not list",
    NO_ROW: "has no row to insert, update or delete: see `changes.before` and `changes.after`",
    UNAVAILABLE_VALUE: "lacks a value that an update left unchanged: set REPLICA IDENTITY FULL for the table",
    BAD_SEQUENCE: "has a value in `changes.sequence` that cannot be compared with those of other records",
    BAD_RECORD: "has bytes that are no record of the table's schema; its payload begins with the reason",
    UNKNOWN_SCHEMA: "names a schema that the registry does not have; its payload begins with the id",
    TOMBSTONE: "has no value, and its key names no row to delete: see `changes: {preset: kafka}`",
    EXPIRED: "stands for messages that Kafka removed before they were read: raise the topic's retention",
    LATE_CHANGE: "is older than the deletes that the table remembers, so its row may be deleted since",
    AMBIGUOUS_KEY: "has a text in a record key field that Hudi would read as another field or as null",
    BAD_PARTITION: "has a text in a partition field that Hudi could not read back from the folder name",
}

MALFORMED_DETAIL = (
    "it has more or fewer fields than its header, a quote that is not closed, or text after its end"
)
"""What is wrong with a record that is unparsable whatever the types of its columns."""
