"""Decodes messages of protobuf by a FileDescriptorSet, without generated code. Needs the extra `protobuf`."""

import datetime as dt
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from headwater.config.extras.packages import importing_extra
from headwater.errors import ConfigError
from headwater.ingest.formats.binary_records.faults import RecordFaultError

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FieldDescriptor
    from google.protobuf.descriptor_pb2 import FileDescriptorProto
    from google.protobuf.message import Message

_Convert = Callable[[Any], object]

_SCALARS = {
    **{"double": pa.float64(), "float": pa.float32(), "bool": pa.bool_()},
    **{"int32": pa.int32(), "sint32": pa.int32(), "sfixed32": pa.int32()},
    **{"int64": pa.int64(), "sint64": pa.int64(), "sfixed64": pa.int64()},
    **{"uint32": pa.uint32(), "fixed32": pa.uint32(), "uint64": pa.uint64(), "fixed64": pa.uint64()},
    **{"string": pa.string(), "enum": pa.string(), "bytes": pa.binary()},
}
_WRAPPERS = {
    f"google.protobuf.{name}Value": kind
    for name, kind in {
        **{"Double": pa.float64(), "Float": pa.float32(), "Bool": pa.bool_()},
        **{"Int32": pa.int32(), "Int64": pa.int64(), "UInt32": pa.uint32(), "UInt64": pa.uint64()},
        **{"String": pa.string(), "Bytes": pa.binary()},
    }.items()
}
_JSON_TYPES = frozenset(f"google.protobuf.{name}" for name in ("Struct", "Value", "ListValue"))
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)


class ProtobufDecoder:
    """Decodes messages of one type to its fields. Fields that the type does not have are ignored."""

    def __init__(self, descriptor_set: str, origin: str, message: str = "") -> None:
        self._origin = origin
        self._descriptor = find_message(descriptor_set, origin, message)
        with importing_extra("protobuf", "a schema of protobuf"):
            from google.protobuf import message_factory
        self._class = message_factory.GetMessageClass(self._descriptor)
        self._type, self._convert = self._map_message(self._descriptor, ())

    @property
    def columns(self) -> pa.Schema:
        """See `RecordDecoder`."""
        return pa.schema(list(self._type))

    @property
    def message(self) -> str:
        """The full name of the message type."""
        return str(self._descriptor.full_name)

    def decode(self, data: bytes) -> Mapping[str, object]:
        """See `RecordDecoder`."""
        from google.protobuf.message import DecodeError

        try:
            found = self._convert(self._class.FromString(data))
        except (DecodeError, ValueError, OverflowError) as error:
            raise RecordFaultError(f"no message {self.message}: {error}") from error
        assert isinstance(found, dict)  # noqa: S101 - a message is a struct
        return found

    def _map_message(self, descriptor: "Descriptor", path: tuple[str, ...]) -> tuple[pa.DataType, _Convert]:
        """Return the type of a message, and what converts it. `path` are the messages around it."""
        name = descriptor.full_name
        if name in path:
            raise ConfigError(
                f"{self._origin}: message {name} contains itself; no table can store it",
                hint="use a message type without recursion",
            )
        inside = (*path, name)
        fields = {field.name: self._map_field(field, inside) for field in descriptor.fields}
        # Attributes of a descriptor take as long as the values.
        reads = [(field.name, field.has_presence, fields[field.name][1]) for field in descriptor.fields]

        def convert(message: "Message") -> object:
            return {
                key: change(getattr(message, key)) if not has_presence or message.HasField(key) else None
                for key, has_presence, change in reads
            }

        return pa.struct([(key, kind) for key, (kind, _) in fields.items()]), convert

    def _map_field(self, field: "FieldDescriptor", path: tuple[str, ...]) -> tuple[pa.DataType, _Convert]:
        entry = field.message_type
        if entry is not None and entry.GetOptions().map_entry:
            key, value = entry.fields_by_name["key"], entry.fields_by_name["value"]
            item_type, change_item = self._map_value(value, path)
            kind = pa.map_(self._map_value(key, path)[0], item_type)
            return kind, lambda found: [(name, change_item(item)) for name, item in found.items()]
        kind, change = self._map_value(field, path)
        if field.is_repeated:
            return pa.list_(kind), lambda found: [change(item) for item in found]
        return kind, change

    def _map_value(self, field: "FieldDescriptor", path: tuple[str, ...]) -> tuple[pa.DataType, _Convert]:
        if field.enum_type is not None:
            names = {number: value.name for number, value in field.enum_type.values_by_number.items()}
            # A newer writer may know more values.
            return pa.string(), lambda number: names.get(number, str(number))
        if field.message_type is None:
            return _SCALARS[_name_scalar(field)], lambda value: value
        name = field.message_type.full_name
        if name == "google.protobuf.Timestamp":
            return pa.timestamp("us", tz="UTC"), _read_time
        if name == "google.protobuf.Duration":
            return pa.string(), _write_duration
        if name in _WRAPPERS:
            return _WRAPPERS[name], lambda wrapper: wrapper.value
        if name in _JSON_TYPES:
            return pa.string(), _write_json
        return self._map_message(field.message_type, path)


def find_message(descriptor_set: str, origin: str, message: str) -> "Descriptor":
    """Return a message type: by its full name, else the first one of the last file. Raises ConfigError."""
    with importing_extra("protobuf", "a schema of protobuf"):
        from google.protobuf.descriptor_pool import DescriptorPool
    files = parse_files(descriptor_set, origin)
    pool = DescriptorPool()
    for file in order_files(files, origin):
        try:
            pool.AddSerializedFile(file.SerializeToString())
        except TypeError as error:
            raise ConfigError(f"{origin}: {file.name}: {error}", hint=_COMPILE) from error
    if message:
        try:
            return pool.FindMessageTypeByName(message)
        except KeyError:
            pass
    names = _list_messages(files[-1:] if not message else files)
    if message or not names:
        known = ", ".join(names) or "none"
        raise ConfigError(
            f"{origin}: no message type {message!r}; its message types: {known}",
            hint="set `message` in `schema` to one of them",
        )
    return pool.FindMessageTypeByName(names[0])


def name_message(descriptor_set: str, origin: str, path: Sequence[int]) -> str:
    """Return the full name of the message type at these indexes of the last file. Raises RecordFaultError."""
    file = parse_files(descriptor_set, origin)[-1]
    names, types = [file.package] if file.package else [], file.message_type
    for index in path:
        if not 0 <= index < len(types):
            raise RecordFaultError(f"{origin} has no message type at {list(path)}")
        names.append(types[index].name)
        types = types[index].nested_type
    return ".".join(names)


_COMPILE = "write it with: protoc --include_imports --descriptor_set_out=FILE.desc FILE.proto"


def parse_files(descriptor_set: str, origin: str) -> list["FileDescriptorProto"]:
    """Return the files of a FileDescriptorSet in base64. Raises ConfigError."""
    with importing_extra("protobuf", "a schema of protobuf"):
        from google.protobuf.descriptor_pb2 import FileDescriptorSet
        from google.protobuf.message import DecodeError
    try:
        found = list(FileDescriptorSet.FromString(b64decode(descriptor_set)).file)
    except DecodeError as error:
        raise ConfigError(f"{origin}: not a FileDescriptorSet: {error}", hint=_COMPILE) from error
    if not found:
        raise ConfigError(f"{origin}: a FileDescriptorSet without files", hint=_COMPILE)
    return found


def order_files(files: Sequence["FileDescriptorProto"], origin: str) -> list["FileDescriptorProto"]:
    """Return the files after those that they import. Raises ConfigError for an import that is missing."""
    from google.protobuf.descriptor_pb2 import FileDescriptorProto

    by_name = {file.name: file for file in files}
    ordered: dict[str, FileDescriptorProto] = {}

    def add(name: str, user: str) -> None:
        if name in ordered:
            return
        file = by_name.pop(name, None) or _find_well_known(name)
        if file is None:
            raise ConfigError(f"{origin}: {user} imports {name}, which is not in it", hint=_COMPILE)
        for imported in file.dependency:
            add(imported, name)
        ordered[name] = file

    for file in files:
        add(file.name, file.name)
    return list(ordered.values())


def _find_well_known(name: str) -> "FileDescriptorProto | None":
    """Return a file that comes with protobuf, such as `google/protobuf/timestamp.proto`."""
    import importlib

    from google.protobuf.descriptor_pb2 import FileDescriptorProto

    if not name.startswith("google/protobuf/"):
        return None
    try:
        module = importlib.import_module(name.removesuffix(".proto").replace("/", ".") + "_pb2")
    except ImportError:
        return None
    found = FileDescriptorProto()
    module.DESCRIPTOR.CopyToProto(found)
    return found


def _list_messages(files: Sequence["FileDescriptorProto"]) -> list[str]:
    return [
        ".".join(filter(None, (file.package, message.name)))
        for file in files
        if not file.name.startswith("google/protobuf/")
        for message in file.message_type
    ]


def _name_scalar(field: "FieldDescriptor") -> str:
    from google.protobuf.descriptor_pb2 import FieldDescriptorProto

    name: str = FieldDescriptorProto.Type.Name(field.type)
    return name.removeprefix("TYPE_").lower()


def _read_time(value: Any) -> object:
    # A time is truncated to microseconds, as everywhere; `ToDatetime` rounds in some releases.
    return _EPOCH + dt.timedelta(seconds=value.seconds, microseconds=value.nanos // 1000)


def _write_duration(value: Any) -> object:
    """Return ISO 8601, in seconds: `PT-1.5S`."""
    total = value.seconds * 10**9 + value.nanos
    whole, nanos = divmod(abs(total), 10**9)
    sign, fraction = "-" if total < 0 else "", f".{nanos:09d}".rstrip("0").rstrip(".")
    return f"PT{sign}{whole}{fraction}S"


def _write_json(value: Any) -> object:
    from google.protobuf import json_format

    return json_format.MessageToJson(value, indent=None)
