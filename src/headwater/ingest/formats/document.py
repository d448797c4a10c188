"""Documents (PDF, HTML, Markdown, DOCX, plain text): one row per section."""

from collections.abc import Iterator

import pyarrow as pa

from headwater.errors import ConfigError, ObjectUnreadableError
from headwater.ingest.documents.kind import find_kind
from headwater.ingest.documents.sandbox import DocumentFile, get_sandbox
from headwater.ingest.documents.section import MAX_SECTION_CHARS, DocumentSection
from headwater.ingest.documents.time_budget import TimeBudget
from headwater.ingest.formats.protocol import ObjectData
from headwater.ingest.formats.reader_options import ReaderOptions

DOCUMENT_SCHEMA = pa.schema(
    [
        ("document", pa.string()),
        ("kind", pa.string()),
        ("section", pa.int64()),
        ("title", pa.string()),
        ("level", pa.int32()),
        ("page", pa.int32()),
        ("byte_start", pa.int64()),
        ("byte_end", pa.int64()),
        ("text", pa.string()),
    ]
)


class DocumentFormat:
    """Options: timeoutSeconds (60) of CPU and maxMemoryMb (1024) per document; beyond them it is quarantined.

    Documents that share an instance, those of one task, also share a `TimeBudget`.
    """

    def __init__(self) -> None:
        self._budgets: dict[float, TimeBudget] = {}

    def read_table(self, source: ObjectData, options: ReaderOptions, max_bytes: int) -> pa.Table:
        """Return the document's title, kind, and its sections in order, numbered from 1.

        `byte_*` are null if the object does not contain the text unchanged.
        """
        kind = find_kind(source.uri, source.data)
        if kind is None:
            raise ObjectUnreadableError(
                f"{source.uri} is not a supported document; it begins with {source.data[:8].hex(' ')}",
                hint="supported are PDF, HTML, Markdown, DOCX and plain text, by content or extension",
            )
        sandbox = get_sandbox(int(_number(options, "maxMemoryMb", 1024)) * 1024**2)
        longest = _number(options, "timeoutSeconds", 60)
        budget = self._budgets.setdefault(longest, TimeBudget(longest))
        document = DocumentFile(source.uri, kind, source.data, source.archive)
        found = sandbox.parse(document, budget, max_bytes)
        sections = [piece for section in found.sections for piece in _cut(section)]
        rows = [
            (found.title, kind, at, s.title, s.level, s.page, s.start, s.end, s.text)
            for at, s in enumerate(sections, start=1)
        ]
        columns = zip(*rows, strict=True) if rows else [()] * len(DOCUMENT_SCHEMA)
        arrays = [
            pa.array(list(column), field.type) for column, field in zip(columns, DOCUMENT_SCHEMA, strict=True)
        ]
        return pa.Table.from_arrays(arrays, schema=DOCUMENT_SCHEMA)

    def read_schema(self, source: ObjectData, options: ReaderOptions) -> pa.Schema:
        """Return the same columns for every object."""
        return DOCUMENT_SCHEMA


def _cut(section: DocumentSection) -> Iterator[DocumentSection]:
    """Yield pieces of at most `MAX_SECTION_CHARS`; only a whole section has byte offsets."""
    text = section.text
    if len(text) <= MAX_SECTION_CHARS:
        yield section
        return
    while text:
        at = len(text) if len(text) <= MAX_SECTION_CHARS else text.rfind("\n", 1, MAX_SECTION_CHARS)
        at = at if at > 0 else MAX_SECTION_CHARS
        piece, text = text[:at].strip(), text[at:]
        if piece:
            yield DocumentSection(
                section.title, section.level, piece, section.page, section.start, section.end
            )


def _number(options: ReaderOptions, name: str, default: float) -> float:
    text = options.text(name)
    try:
        value = float(text) if text else default
    except ValueError:
        value = 0
    if not 0 < value < 1e6:
        raise ConfigError(
            f"reader option {name} is {text!r}", hint=f"set a number above 0; default: {default:g}"
        )
    return value
