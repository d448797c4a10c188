"""Converts XML elements to plain values, and those to JSON by a schema, in spark-xml's conventions."""

import re
from collections.abc import Iterable, Sequence
from xml.etree.ElementTree import Element

import pyarrow as pa

from headwater.ingest.formats.reader_options import ReaderOptions

XmlValue = str | None | list["XmlValue"] | dict[str, "XmlValue"]
JsonValue = str | int | float | bool | None | list["JsonValue"] | dict[str, "JsonValue"]

_INTEGER = re.compile(r"[+-]?\d{1,18}")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?")
# As a number, such a value would lose its first characters.
_IDENTIFIER = re.compile(r"\+.*|-?0\d.*")
_BOOLEANS = {"true": True, "false": False}


class XmlConventions:
    """How elements become columns: options attributePrefix, valueTag, excludeAttribute and the like."""

    def __init__(self, options: ReaderOptions) -> None:
        self.row_tag = options.text("rowTag", default="ROW")
        self.value_tag = options.text("valueTag", default="_VALUE")
        self._prefix = options.text("attributePrefix", default="_")
        self._keeps_attributes = not options.flag("excludeAttribute")
        self._strips = options.flag("ignoreSurroundingSpaces", default=True)
        self._null = options.text("nullValue", default="") or None

    def read_row(self, element: Element) -> dict[str, XmlValue]:
        """Return a row element's attributes and children by name, with its own text under the value tag."""
        value = self._read_value(element)
        if isinstance(value, dict):
            return value
        return {} if not value else {self.value_tag: value}

    def _read_value(self, element: Element) -> XmlValue:
        """Return plain text as is, anything else as a dict, and repeated elements as a list."""
        found: dict[str, XmlValue] = {}
        if self._keeps_attributes:
            found = {self._prefix + local_name(name): value for name, value in element.attrib.items()}
        for child in element:
            name, value = local_name(child.tag), self._read_value(child)
            if name not in found:
                found[name] = value
            elif isinstance(earlier := found[name], list):
                earlier.append(value)
            else:
                found[name] = [earlier, value]
        text = "".join((element.text or "", *(child.tail or "" for child in element)))
        if not found:
            text = text.strip() if self._strips else text
            return None if text == self._null else text
        if text.strip():
            found[self.value_tag] = text.strip() if self._strips else text
        return found


def local_name(tag: str) -> str:
    """Return a name without its namespace."""
    return tag.rsplit("}", 1)[-1]


def infer_row_type(rows: Iterable[dict[str, XmlValue]], value_tag: str) -> pa.StructType:
    """Infer the struct that holds all rows: a name repeated in one of them is a list in all."""
    names: dict[str, list[XmlValue]] = {}
    for row in rows:
        for name, value in row.items():
            names.setdefault(name, []).append(value)
    return pa.struct([(name, _infer_type(values, value_tag)) for name, values in names.items()])


def _infer_type(values: Sequence[XmlValue], value_tag: str) -> pa.DataType:
    if any(isinstance(value, list) for value in values):
        flat = [item for value in values for item in (value if isinstance(value, list) else [value])]
        return pa.list_(_infer_type(flat, value_tag))
    if any(isinstance(value, dict) for value in values):
        rows: list[dict[str, XmlValue]] = [v if isinstance(v, dict) else {value_tag: v} for v in values if v]
        return infer_row_type(rows, value_tag)
    texts = [value for value in values if isinstance(value, str) and value]
    if any(_IDENTIFIER.fullmatch(text) for text in texts):
        return pa.string()
    if texts and all(_INTEGER.fullmatch(text) for text in texts):
        return pa.int64()
    if texts and all(_NUMBER.fullmatch(text) for text in texts):
        return pa.float64()
    if texts and all(text.lower() in _BOOLEANS for text in texts):
        return pa.bool_()
    return pa.string()


def shape_value(value: XmlValue, data_type: pa.DataType | None, value_tag: str) -> JsonValue:
    """Return the JSON value that Spark's parser accepts for `data_type`; a misfit stays unchanged.

    A single element becomes a list if the table has a list. Without a type, leaves are strings.
    """
    if value is None:
        return None
    if data_type is not None and pa.types.is_list(data_type):
        items = value if isinstance(value, list) else [value]
        return [shape_value(item, data_type.value_type, value_tag) for item in items]
    if data_type is not None and pa.types.is_struct(data_type):
        if isinstance(value, dict):
            kinds = {field.name: field.type for field in data_type}
            return {name: shape_value(item, kinds.get(name), value_tag) for name, item in value.items()}
        if isinstance(value, str):
            return shape_value({value_tag: value}, data_type, value_tag) if value else None
    if isinstance(value, dict):
        return {name: shape_value(item, None, value_tag) for name, item in value.items()}
    if isinstance(value, list):
        return [shape_value(item, None, value_tag) for item in value]
    return _shape_text(value, data_type)


def _shape_text(text: str, data_type: pa.DataType | None) -> JsonValue:
    if data_type is None or pa.types.is_string(data_type):
        return text
    if not text:
        return None
    if pa.types.is_integer(data_type) and _INTEGER.fullmatch(text):
        return int(text)
    if pa.types.is_floating(data_type) and _NUMBER.fullmatch(text):
        return float(text)
    if pa.types.is_boolean(data_type):
        return _BOOLEANS.get(text.lower(), text)
    return text
