"""XML: one row per `rowTag` element, as JSON text in spark-xml's conventions. No entities."""

import json
from collections.abc import Iterator
from xml.etree.ElementTree import Element, ParseError, TreeBuilder

import pyarrow as pa
from defusedxml import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser

from headwater.errors import ObjectUnreadableError
from headwater.ingest.formats.markers import UNDECODED
from headwater.ingest.formats.protocol import Lines, ObjectData, Sample, Target
from headwater.ingest.formats.reader_options import ReaderOptions
from headwater.ingest.formats.text_lines import decode_text
from headwater.ingest.formats.xml_values import (
    XmlConventions,
    XmlValue,
    infer_row_type,
    local_name,
    shape_value,
)


class XmlFormat:
    """Options: rowTag (ROW), attributePrefix (_), valueTag (_VALUE), excludeAttribute, nullValue, encoding.

    Names lose their namespaces. Without a target schema all leaves are strings.
    """

    def read_lines(self, source: ObjectData, options: ReaderOptions, target: Target) -> Lines:
        """Return one JSON object per element, numbered by elements."""
        conventions = XmlConventions(options)
        rows = _read_rows(source, options, conventions)
        row_type = pa.struct(list(target.schema)) if target.schema is not None else None
        texts = _to_json(rows, row_type, conventions)
        return Lines(range(1, len(texts) + 1), texts, "" if rows else f"no <{conventions.row_tag}> element")

    def sample(self, source: ObjectData, options: ReaderOptions, max_lines: int) -> Sample:
        """Return the first rows, with a shape and types that fit all of them."""
        conventions = XmlConventions(options)
        rows = _read_rows(source, options, conventions)[:max_lines]
        return Sample(None, tuple(_to_json(rows, infer_row_type(rows, conventions.value_tag), conventions)))


def _to_json(
    rows: list[dict[str, XmlValue]], row_type: pa.StructType | None, conventions: XmlConventions
) -> list[str]:
    return [json.dumps(shape_value(row, row_type, conventions.value_tag), ensure_ascii=False) for row in rows]


def _read_rows(
    source: ObjectData, options: ReaderOptions, conventions: XmlConventions
) -> list[dict[str, XmlValue]]:
    # Decoded text overrides the document's declaration; for undecoded bytes the declaration applies.
    named = options.text("encoding", "charset")
    document = decode_text(source.uri, source.data, options) if named else source.data
    if isinstance(document, str) and UNDECODED in document:
        line = document.count("\n", 0, document.index(UNDECODED)) + 1
        raise ObjectUnreadableError(
            f"{source.uri} has bytes in line {line} that are not {named} text",
            hint="correct the reader option `encoding`, or remove it to use the document's own declaration",
        )
    parser = DefusedXMLParser(target=TreeBuilder())
    try:
        parser.feed(document)
        root = parser.close()
        return [conventions.read_row(element) for element in _iter_rows(root, conventions.row_tag)]
    except (ParseError, DefusedXmlException, ValueError, LookupError, RecursionError) as error:
        raise ObjectUnreadableError(f"{source.uri} is not readable XML: {error}") from error


def _iter_rows(root: Element, row_tag: str) -> Iterator[Element]:
    """Yield outermost elements of that name; a loop, since XML may nest deeper than Python's stack."""
    waiting = [root]
    while waiting:
        element = waiting.pop()
        if local_name(element.tag) == row_tag:
            yield element
        else:
            waiting.extend(reversed(element))
