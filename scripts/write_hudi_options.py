"""Writes the list of all options of the pinned Hudi bundle: `python -m scripts.write_hudi_options`.

It asks the bundle itself, through our own session; a test compares. Run it after the pin has moved.
"""

import json
import re
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from headwater.config.environment import read_environment
from headwater.config.hudi.known_options import DATA_FILE
from headwater.config.settings import Settings
from headwater.lake.jvm import Jvm, connect
from headwater.lake.prerequisites.java import find_java
from headwater.lake.prerequisites.packages import HUDI_BUNDLE
from headwater.lake.session import build_session

PROPERTY = "org.apache.hudi.common.config.ConfigProperty"
DESCRIPTOR = f"L{PROPERTY.replace('.', '/')};".encode()
# A text among a class's constants: a tag, its length in two bytes, itself.
CONSTANT_KEY = re.compile(rb"\x01([\x00-\xff]{2})(hoodie\.[\w.-]+)", re.ASCII)
VERSION_NAMES = ("ZERO", "ONE", "TWO", "THREE", "FOUR", "FIVE", "SIX", "SEVEN", "EIGHT", "NINE")
# Where the bundle says that an option is outdated, and not what to use instead.
REPLACED_BY = {
    "hoodie.archivelog.folder": "hoodie.timeline.history.path",
    "hoodie.bootstrap.index.class": "hoodie.bootstrap.index.type",
    "hoodie.compaction.payload.class": "hoodie.write.record.merge.mode",
    "hoodie.datasource.hive_sync.use_jdbc": "hoodie.datasource.hive_sync.mode",
    "hoodie.datasource.write.payload.class": "hoodie.write.record.merge.mode",
    "hoodie.datasource.write.reconcile.schema": "hoodie.write.set.null.for.missing.columns",
    "hoodie.layout.optimize.data.skipping.enable": "hoodie.enable.data.skipping",
    "hoodie.layout.optimize.enable": "hoodie.layout.optimize.strategy",
    "hoodie.sql.bulk.insert.enable": "hoodie.spark.sql.insert.into.operation",
    "hoodie.sql.insert.mode": "hoodie.spark.sql.insert.into.operation",
    "hoodie.table.keygenerator.class": "hoodie.table.keygenerator.type",
}
Option = dict[str, Any]


def render_options(spark: SparkSession) -> str:
    """The data file's text: the bundle's version, and one line an option, in order of the keys."""
    options = collect_options(connect(spark))
    lines = (json.dumps(options[key], ensure_ascii=False) for key in sorted(options))
    bundle = json.dumps(HUDI_BUNDLE)
    return f'{{"bundle": {bundle},\n"options": [\n' + ",\n".join(lines) + "\n]}\n"


def collect_options(jvm: Jvm) -> dict[str, Option]:
    """All options by key. One that several classes name is its config class's, not the data source's.

    Keys that the bundle only mentions, as texts in its code, are known to be there, and no more.
    """
    found: dict[str, Option] = {}
    classes = read_classes(jvm)
    valid_values = jvm.load_class(PROPERTY).getDeclaredField("validValues")
    valid_values.setAccessible(True)
    for name in sorted(classes, key=lambda name: ("DataSource" in name, name)):
        if DESCRIPTOR in classes[name]:
            for prop in iter_properties(jvm, name):
                if prop.key() not in found:
                    found[prop.key()] = describe(prop, name, valid_values.get(prop) or ())
    for key, replacement in REPLACED_BY.items():
        found[key]["replaced_by"] = found[replacement]["key"]
    known = {*found, *(old for option in found.values() for old in option.get("alternatives", ()))}
    mentioned = {key for code in classes.values() for key in iter_mentioned(code)}
    sections = {key for key in mentioned if any(name.startswith(f"{key}.") for name in known)}
    return found | {key: {"key": key, "kind": "text"} for key in mentioned - known - sections}


def read_classes(jvm: Jvm) -> dict[str, bytes]:
    """Hudi's own classes in the bundle, by name."""
    source = jvm.load_class(PROPERTY).getProtectionDomain().getCodeSource().getLocation()
    with zipfile.ZipFile(unquote(urlsplit(source.toString()).path)) as jar:
        return {
            name.removesuffix(".class").replace("/", "."): jar.read(name)
            for name in jar.namelist()
            if name.startswith("org/apache/hudi/") and name.endswith(".class")
        }


def iter_mentioned(code: bytes) -> Iterator[str]:
    """Texts among a class's constants that are a whole key."""
    for size, text in CONSTANT_KEY.findall(code):
        key = text[: int.from_bytes(size, "big")].decode()
        # One word is a prefix or the name of a file; so is what ends in a dot.
        if key.count(".") > 1 and not key.endswith(".") and not key.startswith("hoodie.properties"):
            yield key


def iter_properties(jvm: Jvm, class_name: str) -> Iterator[Any]:
    """The properties in static fields of a class, or in the fields of a Scala object."""
    loaded = jvm.load_class(class_name)
    try:
        fields = {field.getName(): field for field in loaded.getDeclaredFields()}
    except Py4JJavaError as error:
        # It needs a library that no Spark session of ours has.
        print(f"{class_name}: {error.java_exception.toString()}", file=sys.stderr)
        return
    scala_object = fields["MODULE$"].get(None) if "MODULE$" in fields else None
    for field in fields.values():
        is_static = "static" in field.toString().split()
        if field.getType().getName() == PROPERTY and (is_static or scala_object is not None):
            field.setAccessible(True)
            yield field.get(scala_object)


def describe(prop: Any, class_name: str, allowed: Iterable[str]) -> Option:
    """One option as plain data; what is empty is left out."""
    default = prop.defaultValue() if prop.hasDefaultValue() else None
    kind, values = describe_kind(default, sorted(allowed))
    option = {
        "key": prop.key(),
        "kind": kind,
        "default": None if default is None else to_text(default),
        "values": values,
        "since": to_optional(prop.getSinceVersion()),
        "deprecated": to_optional(prop.getDeprecatedVersion()),
        "alternatives": list(prop.getAlternatives()),
        "group": class_name.rpartition(".")[2].rstrip("$"),
        "doc": " ".join(prop.doc().split()),
    }
    return {name: value for name, value in option.items() if value not in (None, [], "")}


def describe_kind(default: Any, allowed: list[str]) -> tuple[str, list[str]]:
    """Of what kind an option's values are, as far as the property tells, and the allowed ones of a choice."""
    if allowed:
        return "choice", allowed
    if is_enum(default):
        return "choice", [to_text(constant) for constant in default.getDeclaringClass().getEnumConstants()]
    # Many defaults are texts of what is parsed later.
    text = "" if default is None else to_text(default)
    if text in ("true", "false"):
        return "boolean", []
    if re.fullmatch(r"-?(0|[1-9]\d*)", text):
        return "integer", []
    return ("number" if re.fullmatch(r"-?\d+\.\d+", text) else "text"), []


def to_text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if is_enum(value):
        # Versions of tables are written as numbers.
        return str(value.versionCode() if value.name() in VERSION_NAMES else value.name())
    return str(value)


def is_enum(value: Any) -> bool:
    return isinstance(value, JavaObject) and bool(value.getClass().isEnum())


def to_optional(option: Any) -> str | None:
    return str(option.get()) if option.isPresent() else None


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings.model_validate(
            {
                "source": {"type": "local", "path": f"{folder}/in"},
                "lake": f"{folder}/lake",
                "tables": {"unused": {"path": "*.json"}},
                "spark": {"master": "local[1]"},
            }
        )
        java = find_java(read_environment())
        spark = build_session(settings, java_home=str(java.path), log_file=Path(folder, "spark.log"))
        try:
            text = render_options(spark)
        finally:
            spark.stop()
    DATA_FILE.write_text(text, encoding="utf-8")
    print(f"{DATA_FILE}: {len(text.splitlines()) - 3} options of {HUDI_BUNDLE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
