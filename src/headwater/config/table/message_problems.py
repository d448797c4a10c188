"""Conflicts between the source of a table's rows, messages or objects, and the table's keys."""

from collections.abc import Collection, Iterator

from headwater.config.table.messages import MESSAGE_FORMATS, OBJECT_FORMATS
from headwater.config.table.table import TableConfig

Problem = tuple[tuple[str | int, ...], str]


def iter_message_problems(name: str, table: TableConfig, are_messages: Collection[bool]) -> Iterator[Problem]:
    """Yield conflicts of a table with its sources, for each of which `are_messages` says if it is Kafka."""
    if len(are_messages) > 1:
        text = (
            "the table takes messages of Kafka and objects, which have no format in common; name one of them"
        )
        yield ("tables", name, "source"), text
        return
    for path, text in _iter_messages(table) if True in are_messages else _iter_objects(table):
        yield ("tables", name, *path), text


def _iter_objects(table: TableConfig) -> Iterator[Problem]:
    if table.message_columns:
        yield ("message_columns",), "requires a source of `type: kafka`: objects have no such columns"
    confluent = next((name for name in table.options if name.lower() == "confluent"), None)
    if table.effective_format in ("json", "json_array") and confluent is not None:
        yield ("options", confluent), "requires a source of `type: kafka`: files of JSON have no such header"
    if table.changes is not None and table.changes.preset == "kafka":
        yield (
            ("changes", "preset"),
            "'kafka' requires a source of `type: kafka`. For files of Kafka Connect, choose the preset of "
            "their connector: debezium, maxwell",
        )


def _iter_messages(table: TableConfig) -> Iterator[Problem]:
    file_format = table.effective_format
    if file_format not in MESSAGE_FORMATS:
        meant = "; for Avro in messages, use avro_records" if file_format == "avro" else ""
        allowed = ", ".join(MESSAGE_FORMATS)
        yield ("format",), f"{file_format!r} is no format of a message{meant}. Allowed: {allowed}"
    for key in ("complete_when", "modified_after", "modified_before"):
        if getattr(table, key):
            yield (key,), "not applicable with a source of `type: kafka`: topics have no files"
    options = {name.lower(): (name, value) for name, value in table.options.items()}
    if "framing" in options:
        yield ("options", options["framing"][0]), "not applicable: each message is one record"
    header = options.get("header", ("", "false"))
    if file_format == "csv" and header[1].lower() == "true":
        yield (
            ("options", header[0]),
            "'true' is not applicable: a message has no header; name the columns in `schema`",
        )
    if table.message_columns:
        yield from _iter_columns(table)
    is_merged = table.effective_mode == "merge" and table.changes is None
    if is_merged and not table.ordering and table.merge_mode != "commit_time":
        # By events, messages whose announcement was lost and repeated would win over newer ones.
        yield (
            ("ordering",),
            "missing; name the field that orders messages of one key. Messages of a key are in a partition, "
            "so their offset does: `ordering: _kafka_offset` with `message_columns: [offset]`",
        )


def _iter_columns(table: TableConfig) -> Iterator[Problem]:
    if table.effective_format not in OBJECT_FORMATS:
        yield (
            ("message_columns",),
            f"not applicable with `format: {table.effective_format}`, whose records are lists of values. "
            f"Allowed: {', '.join(OBJECT_FORMATS)}",
        )
    changes = table.changes
    if changes is not None and changes.is_envelope and changes.preset != "kafka":
        yield (
            ("message_columns",),
            "cannot be combined with `changes` of an envelope, whose rows are those of a database. Allowed: "
            "`changes: {preset: kafka}`",
        )
