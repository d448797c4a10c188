"""Options of each format's reader, and their allowed values. The names are Spark's."""

import codecs
from collections.abc import Callable, Iterator, Mapping
from typing import Literal

from headwater.config.file_format import FileFormat
from headwater.config.problems.nearest import find_nearest

Kind = Literal["flag", "character", "delimiter", "encoding", "framing", "number", "unit", "text"]

EPOCH_UNITS = ("auto", "seconds", "milliseconds", "microseconds", "nanoseconds")
"""The unit of numbers since 1970 in timestamp columns; auto: by their magnitude."""

FRAMINGS = ("delimited", "length_prefixed", "single")
"""How the records of an object follow each other."""

_OF_FILES: Mapping[str, Kind] = {
    "compression": "text",
    "ignoreCorruptFiles": "flag",
    "ignoreMissingFiles": "flag",
    "modifiedAfter": "text",
    "modifiedBefore": "text",
    "pathGlobFilter": "text",
    "recursiveFileLookup": "flag",
}
_OF_ARCHIVES: Mapping[str, Kind] = {"members": "text"}
_OF_TEXTS: Mapping[str, Kind] = {"encoding": "encoding", "charset": "encoding", "lineSep": "delimiter"}
_OF_TIMES: Mapping[str, Kind] = {
    "dateFormat": "text",
    "enableDateTimeParsingFallback": "flag",
    "epochUnit": "unit",
    "locale": "text",
    "timestampFormat": "text",
    "timestampNTZFormat": "text",
    "timeZone": "text",
}
_OF_PARSERS: Mapping[str, Kind] = {
    **_OF_TEXTS,
    **_OF_TIMES,
    "columnNameOfCorruptRecord": "text",
    "mode": "text",
    "multiLine": "flag",
    "samplingRatio": "number",
}
_JSON: Mapping[str, Kind] = {
    **_OF_PARSERS,
    "allowBackslashEscapingAnyCharacter": "flag",
    "allowComments": "flag",
    "allowNonNumericNumbers": "flag",
    "allowNumericLeadingZeros": "flag",
    "allowSingleQuotes": "flag",
    "allowUnquotedControlChars": "flag",
    "allowUnquotedFieldNames": "flag",
    "confluent": "flag",
    "dropFieldIfAllNull": "flag",
    "inferTimestamp": "flag",
    "prefersDecimal": "flag",
    "primitivesAsString": "flag",
}
_CSV: Mapping[str, Kind] = {
    **_OF_PARSERS,
    "charToEscapeQuoteEscaping": "character",
    "codec": "text",
    "columnPruning": "flag",
    "comment": "character",
    "delimiter": "delimiter",
    "emptyValue": "text",
    "enforceSchema": "flag",
    "escape": "character",
    "header": "flag",
    "ignoreLeadingWhiteSpace": "flag",
    "ignoreTrailingWhiteSpace": "flag",
    "inferSchema": "flag",
    "inputBufferSize": "number",
    "maxCharsPerColumn": "number",
    "maxColumns": "number",
    "nanValue": "text",
    "negativeInf": "text",
    "nullValue": "text",
    "positiveInf": "text",
    "preferDate": "flag",
    "quote": "character",
    "sep": "delimiter",
    "unescapedQuoteHandling": "text",
}
_XML: Mapping[str, Kind] = {
    **_OF_PARSERS,
    "attributePrefix": "text",
    "excludeAttribute": "flag",
    "ignoreNamespace": "flag",
    "ignoreSurroundingSpaces": "flag",
    "inferSchema": "flag",
    "nullValue": "text",
    "rootTag": "text",
    "rowTag": "text",
    "treatEmptyValuesAsNulls": "flag",
    "valueTag": "text",
}
_REBASE: Mapping[str, Kind] = {"datetimeRebaseMode": "text", "int96RebaseMode": "text", "mergeSchema": "flag"}
_RECORDS: Mapping[str, Kind] = {"confluent": "flag", "framing": "framing"}
_ALIASES: Mapping[str, str] = {"separator": "sep"}
_OPTIONS: Mapping[FileFormat, Mapping[str, Kind]] = {
    "json": _JSON,
    "json_array": _JSON,
    "csv": _CSV,
    "xml": _XML,
    "xlsx": {**_OF_TIMES, "headerRow": "number", "sheet": "text"},
    "text": {**_OF_TEXTS, "wholetext": "flag"},
    "parquet": _REBASE,
    "orc": {"mergeSchema": "flag"},
    "avro": {
        "avroSchema": "text",
        "datetimeRebaseMode": "text",
        "ignoreExtension": "flag",
        "mode": "text",
        "positionalFieldMatching": "flag",
    },
    "avro_records": _RECORDS,
    "protobuf": _RECORDS,
    "binary": {},  # of which an archive is one object
    "document": {"maxMemoryMb": "number", "timeoutSeconds": "number"},
}


def iter_reader_option_problems(
    file_format: FileFormat, options: Mapping[str, str]
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield keys and sentences for unknown options of a format, and for invalid values.

    As in Spark, option names are case-insensitive.
    """
    of_archives = _OF_ARCHIVES if file_format != "binary" else {}
    known = {**_OPTIONS[file_format], **_OF_FILES, **of_archives}
    by_lower = {name.lower(): kind for name, kind in known.items()}
    for name, value in options.items():
        kind = by_lower.get(name.lower())
        if kind is None:
            yield ("options", name), _explain_unknown(file_format, name, known)
        elif problem := _CHECKS[kind](value):
            yield ("options", name), problem


def _explain_unknown(file_format: FileFormat, name: str, known: Mapping[str, Kind]) -> str:
    near = find_nearest(name, [*known, *_ALIASES])
    near = _ALIASES.get(near or "", near)
    meant = f" Did you mean {near!r}?" if near else ""
    own = sorted(_OPTIONS[file_format])
    allowed = f"Allowed: {', '.join(own)}" if own else "It has no options of its own"
    return f"format {file_format} has no option {name!r}.{meant} {allowed}"


def _check_flag(value: str) -> str:
    return "" if value.lower() in ("true", "false") else f"{value!r} is not allowed. Allowed: true, false"


def _check_character(value: str) -> str:
    return "" if len(value) <= 1 else f"{value!r} is not allowed. Allowed: one character, or '' for none"


def _check_delimiter(value: str) -> str:
    return "" if value else "'' is not allowed. Allowed: one or more characters; `\\t` is a tab"


def _check_encoding(value: str) -> str:
    try:
        # A codec that is no text encoding, such as `base64`, is only detected by trying.
        b"a".decode(codecs.lookup(value).name, "replace")
    except LookupError:
        return (
            f"{value!r} is not an encoding. Allowed: names such as UTF-8, ISO-8859-1, windows-1252, UTF-16LE"
        )
    return ""


def _check_number(value: str) -> str:
    try:
        float(value)
    except ValueError:
        return f"{value!r} is not a number"
    return ""


def _check_unit(value: str) -> str:
    allowed = ", ".join(EPOCH_UNITS)
    return "" if value.lower() in EPOCH_UNITS else f"{value!r} is not allowed. Allowed: {allowed}"


def _check_framing(value: str) -> str:
    allowed = ", ".join(FRAMINGS)
    return "" if value.lower() in FRAMINGS else f"{value!r} is not allowed. Allowed: {allowed}"


_CHECKS: Mapping[Kind, Callable[[str], str]] = {
    "flag": _check_flag,
    "character": _check_character,
    "delimiter": _check_delimiter,
    "encoding": _check_encoding,
    "framing": _check_framing,
    "number": _check_number,
    "unit": _check_unit,
    "text": lambda _: "",
}
