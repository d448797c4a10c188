"""One JSON array per object (each element a row), or one JSON object (one row)."""

from headwater.errors import ObjectUnreadableError
from headwater.ingest.formats.json_values import iter_documents, mark_lone_surrogates
from headwater.ingest.formats.markers import mark_undecodable
from headwater.ingest.formats.protocol import Lines, ObjectData, Sample, Target
from headwater.ingest.formats.reader_options import ReaderOptions
from headwater.ingest.formats.text_lines import decode_text


class JsonArrayFormat:
    """Options: encoding; the record parser handles the others."""

    def read_lines(self, source: ObjectData, options: ReaderOptions, target: Target) -> Lines:
        """Return the texts of the elements, numbered from 1. Rejects the whole object if it is not JSON."""
        text = decode_text(source.uri, source.data, options)
        if text.lstrip()[:1] not in ("", "[", "{"):
            raise ObjectUnreadableError(
                f"{source.uri} begins with {text.lstrip()[:20]!r}: neither a JSON array nor an object",
                hint="set the table's `format`",
            )
        elements = list(iter_documents(source.uri, text))
        texts = mark_lone_surrogates(mark_undecodable(elements))
        return Lines(range(1, len(elements) + 1), texts)

    def sample(self, source: ObjectData, options: ReaderOptions, max_lines: int) -> Sample:
        """Return the first elements; they name their own columns."""
        return Sample(None, tuple(self.read_lines(source, options, Target()).texts[:max_lines]))
