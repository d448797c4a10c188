"""Which of Hudi's key generators a table was written with, and which one a write uses. Pure.

They write the same record keys and partition paths only if they are the same.
"""

import re
from collections.abc import Mapping

from headwater.lake.typed_options.differences import Difference

_WRITE = "hoodie.datasource.write."
_RECORD_KEY = f"{_WRITE}recordkey.field"
_PARTITION = f"{_WRITE}partitionpath.field"
_STORED = ("hoodie.table.keygenerator.class", "hoodie.table.keygenerator.type")
_GIVEN = (f"{_WRITE}keygenerator.class", f"{_WRITE}keygenerator.type")
_CLASS = re.compile(r"(?:.*\.)?(\w+?)(?:Avro)?KeyGenerator")


def find_generator_difference(properties: Mapping[str, str], options: Mapping[str, str]) -> Difference | None:
    """Return the difference between a table's key generator and the one of a write with record keys."""
    if not options.get(_RECORD_KEY):
        return None
    there, here = _read(properties, _STORED), _read(options, _GIVEN) or _infer(options)
    return Difference("the key generator", there, here) if there and there != here else None


def find_prefix(options: Mapping[str, str]) -> str:
    """Return the beginning of a write's record keys, if releases of Hudi differ in it: the field's name.

    No property of a table says whether it was written so.
    """
    field = options.get(_RECORD_KEY, "")
    is_complex = (_read(options, _GIVEN) or (_infer(options) if field else "")) == "complex"
    is_new = options.get("hoodie.write.complex.keygen.new.encoding") == "true"
    return f"{field}:" if is_complex and field and "," not in field and not is_new else ""


def _read(given: Mapping[str, str], keys: tuple[str, str]) -> str:
    text = next((given[key] for key in keys if given.get(key)), "")
    found = _CLASS.fullmatch(text)
    word = (found[1] if found else text.removesuffix("_AVRO")).lower().replace("_", "")
    return word.removesuffix("ed") if word.startswith("nonpartition") else word


def _infer(options: Mapping[str, str]) -> str:
    """Return Hudi's choice for options without a key generator."""
    partitions = [name for name in options.get(_PARTITION, "").split(",") if name]
    if not partitions:
        return "nonpartition"
    return "simple" if len(partitions) == 1 and "," not in options[_RECORD_KEY] else "complex"
