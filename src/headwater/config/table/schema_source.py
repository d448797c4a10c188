"""`schema:` of a table: its columns as DDL, or from a schema of its records in a file or a registry."""

from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, PositiveInt, model_validator

from headwater.config.file_paths import resolve_path
from headwater.config.registry import PASSWORD_VARIABLE, TOKEN_VARIABLE, USER_VARIABLE
from headwater.config.section import Section, SectionError

AVRO_SUFFIX = ".avsc"
DESCRIPTOR_SUFFIXES = (".desc", ".pb", ".binpb", ".protoset")


def read_ddl(value: object) -> object:
    """Return the section that a text stands for. Pydantic checks any other value."""
    return {"ddl": value} if isinstance(value, str) else value


def _read_latest(value: object) -> object:
    """Return None, the default, for `latest`. Pydantic checks any other value."""
    return None if value == "latest" else value


def _check_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        # Reading an invalid port raises.
        is_url = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_url = False
    if not is_url:
        raise ValueError(f"{url!r} is not an HTTP(S) URL; write, for example, https://registry.example.com")
    if parts.username is not None:
        raise ValueError(
            "credentials are not allowed in the URL; set the environment variables "
            f"{USER_VARIABLE} and {PASSWORD_VARIABLE}, or {TOKEN_VARIABLE}"
        )
    return url.rstrip("/")


class SchemaConfig(Section):
    """A table's columns: DDL, or a schema of its records in a file or in a schema registry.

    Credentials for the registry come from the environment: HEADWATER_REGISTRY_USER and
    HEADWATER_REGISTRY_PASSWORD, or HEADWATER_REGISTRY_TOKEN.
    """

    ddl: str | None = Field(
        None,
        description="Columns as DDL. `schema: TEXT` is short for it.",
        examples=["id bigint, name string"],
    )
    file: Annotated[Path, AfterValidator(resolve_path)] | None = Field(
        None,
        description="File with a schema: Avro (`.avsc`), or a FileDescriptorSet of protobuf (`.desc`, `.pb`, "
        "`.binpb`, `.protoset`), as `protoc --include_imports --descriptor_set_out` writes it.",
        examples=["schemas/order.avsc"],
    )
    registry: Annotated[str, AfterValidator(_check_url)] | None = Field(
        None,
        description="URL of a schema registry with Confluent's API.",
        examples=["https://registry.example.com"],
    )
    subject: str | None = Field(
        None, min_length=1, description="Subject in the registry.", examples=["orders-value"]
    )
    version: Annotated[
        PositiveInt | None,
        BeforeValidator(_read_latest, json_schema_input_type=Literal["latest"] | PositiveInt | None),
    ] = Field(None, description="Version of the subject. Default: the latest one.", examples=["latest", 3])
    message: str | None = Field(
        None,
        min_length=1,
        description="Message type of protobuf, such as `shop.Order`. Required with a file; default with a "
        "registry: the first one of the schema.",
    )

    @model_validator(mode="after")
    def _check_combinations(self) -> "SchemaConfig":
        given = [key for key in ("ddl", "file", "registry") if getattr(self, key) is not None]
        if len(given) != 1:
            found = f"{' and '.join(given)} cannot be combined" if given else "the section is empty"
            raise SectionError([((), f"{found}. Allowed: one of ddl, file, registry")])
        problems: list[tuple[tuple[str, ...], str]] = [
            ((key,), f"not applicable with `{given[0]}`")
            for key in ("subject", "version", "message")
            if key in self.model_fields_set and not self._takes(key)
        ]
        if self.registry is not None and self.subject is None:
            problems.append((("subject",), "missing; `registry` requires the subject, such as orders-value"))
        if self.file is not None:
            problems += self._list_file_problems(self.file)
        if problems:
            raise SectionError(problems)
        return self

    def _takes(self, key: str) -> bool:
        if key == "message":
            return self.registry is not None or (self.file is not None and not self.is_avro_file)
        return self.registry is not None

    def _list_file_problems(self, file: Path) -> list[tuple[tuple[str, ...], str]]:
        if file.suffix.lower() == ".proto":
            return [
                (
                    ("file",),
                    f"{file.name} is source text; compile it: protoc --include_imports "
                    f"--descriptor_set_out={file.stem}.desc {file.name}",
                )
            ]
        if not self.is_avro_file and file.suffix.lower() not in DESCRIPTOR_SUFFIXES:
            allowed = ", ".join((AVRO_SUFFIX, *DESCRIPTOR_SUFFIXES))
            return [(("file",), f"{file.name} has no known ending. Allowed: {allowed}")]
        if not self.is_avro_file and self.message is None:
            return [(("message",), "missing; name the message type of the records, such as shop.Order")]
        return []

    @property
    def is_avro_file(self) -> bool:
        """True if the file has a schema of Avro."""
        return self.file is not None and self.file.suffix.lower() == AVRO_SUFFIX
