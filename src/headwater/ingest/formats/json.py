"""JSON lines, and whole documents with option `multiLine`."""

from collections.abc import Sequence
from operator import methodcaller

from headwater.errors import ObjectUnreadableError
from headwater.ingest.formats.json_values import iter_documents, mark_lone_surrogates
from headwater.ingest.formats.markers import mark_undecodable
from headwater.ingest.formats.protocol import Lines, ObjectData, Sample, Target
from headwater.ingest.formats.reader_options import ReaderOptions
from headwater.ingest.formats.text_lines import JAVA_BLANKS, decode_text, split_lines

DOCUMENT_BORDERS = ("}{", "} {")
"""Possible borders between two documents of a line; inside a string they are text."""

_MAY_BE_ARRAY = methodcaller("startswith", ("[", " ", "\t"))


class JsonFormat:
    """Options: multiLine, lineSep, encoding; the record parser handles the others."""

    def read_lines(self, source: ObjectData, options: ReaderOptions, target: Target) -> Lines:
        """Return one record per line, with the line number; blank lines are not records but count.

        A line with an array gives its elements, as in Spark. A line with several documents gives all of them
        (Firehose writes no line ends; Spark would read only the first). Numbers must be unique in an object,
        so in an object with such a line they count records.
        """
        numbers, records = _read_records(source, options)
        return Lines(numbers, mark_lone_surrogates(mark_undecodable(records)))

    def sample(self, source: ObjectData, options: ReaderOptions, max_lines: int) -> Sample:
        """Return the first records; they name their own columns."""
        return Sample(None, tuple(self.read_lines(source, options, Target()).texts[:max_lines]))


def _read_records(source: ObjectData, options: ReaderOptions) -> tuple[Sequence[int], Sequence[str]]:
    text = decode_text(source.uri, source.data, options)
    if options.flag("multiLine"):
        documents = _read_documents(source.uri, text)
        return range(1, len(documents) + 1), documents
    lines = split_lines(text, options.separator("lineSep", default=""))
    may_have_several = any(sign in text for sign in DOCUMENT_BORDERS)
    if may_have_several or any(map(_is_array, filter(_MAY_BE_ARRAY, lines))):
        expanded = [_expand(source.uri, line) for line in lines]
        if any(_is_array(line) or len(found) > 1 for line, found in zip(lines, expanded, strict=True)):
            records = [record for found in expanded for record in found]
            return range(1, len(records) + 1), records
    if all(lines) and not any(map(str.isspace, lines)):
        return range(1, len(lines) + 1), lines
    numbered = [(n, line) for n, line in enumerate(lines, 1) if line.strip(JAVA_BLANKS)]
    return [n for n, _ in numbered], [line for _, line in numbered]


def _is_array(line: str) -> bool:
    return line[:1] in "[ \t" and line.lstrip().startswith("[")


def _expand(uri: str, line: str) -> list[str]:
    is_several = _is_array(line) or any(sign in line for sign in DOCUMENT_BORDERS)
    if not is_several:
        return [line] if line.strip(JAVA_BLANKS) else []
    try:
        return list(iter_documents(uri, line))
    except ObjectUnreadableError:
        return [line]  # a bad record: the record parser reports it


def _read_documents(uri: str, text: str) -> list[str]:
    try:
        return list(iter_documents(uri, text))
    except ObjectUnreadableError:
        # Spark's options allow more than JSON does (comments, single quotes), so its parser judges the
        # document. An array is an exception: it would read only the first element.
        if text.lstrip().startswith("["):
            raise
        return [text]
