"""Text: one row per line, or the whole object with option `wholetext`."""

from headwater.ingest.formats.markers import mark_undecodable
from headwater.ingest.formats.protocol import Lines, ObjectData, Sample, Target
from headwater.ingest.formats.reader_options import ReaderOptions
from headwater.ingest.formats.text_lines import decode_text, split_lines


class TextFormat:
    """Options: wholetext, lineSep, encoding."""

    def read_lines(self, source: ObjectData, options: ReaderOptions, target: Target) -> Lines:
        """Return every line, including blank ones."""
        text = decode_text(source.uri, source.data, options)
        lines = (
            [text]
            if options.flag("wholetext")
            else split_lines(text, options.separator("lineSep", default=""))
        )
        return Lines(range(1, len(lines) + 1), mark_undecodable(lines))

    def sample(self, source: ObjectData, options: ReaderOptions, max_lines: int) -> Sample:
        """Return the first lines, as column `value`."""
        lines = self.read_lines(source, options, Target()).texts
        return Sample(("value",), tuple(lines[:max_lines]))
