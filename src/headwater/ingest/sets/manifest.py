"""Parses a manifest: the files of a set, by lines of text or by JSON. Pure."""

import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

MAX_MANIFEST_BYTES = 16 * 1024**2

_LISTS = ("entries", "files", "fileUrls", "urls", "objects")
_NAMES = ("url", "path", "name", "key", "file", "uri")
_SIZES = ("content_length", "size", "length", "bytes")


class ManifestError(ValueError):
    """The file is not a manifest."""


def parse_manifest(data: bytes, folder: str, bucket: str) -> dict[str, int | None]:
    """Return the keys of the files that a manifest lists, with their sizes in bytes as far as it has them.

    `folder` is the prefix of the set. A name without an address is relative to it. Raises `ManifestError`.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ManifestError("it is not UTF-8") from error
    found: dict[str, int | None] = {}
    for name, size in _iter_entries(text):
        found[_to_key(name, folder, bucket)] = size
    if not found:
        raise ManifestError("it lists no file")
    return found


def _iter_entries(text: str) -> Iterator[tuple[str, int | None]]:
    if not text.lstrip().startswith(("{", "[")):
        yield from ((line.strip(), None) for line in text.splitlines() if line.strip())
        return
    try:
        document = json.loads(text)
    except ValueError as error:
        raise ManifestError(f"it is not JSON: {error}") from error
    listed = document
    if isinstance(document, Mapping):
        listed = next((document[name] for name in _LISTS if name in document), None)
    if not isinstance(listed, list):
        raise ManifestError(f"it has no list of files. Allowed: an array, or one below {', '.join(_LISTS)}")
    for entry in listed:
        yield _read_entry(entry)


def _read_entry(entry: Any) -> tuple[str, int | None]:
    if isinstance(entry, str):
        return entry, None
    if not isinstance(entry, Mapping):
        raise ManifestError(f"{str(entry)[:60]!r} is not a file. Allowed: a name, or an object with one")
    name = next((entry[key] for key in _NAMES if isinstance(entry.get(key), str)), None)
    if name is None:
        raise ManifestError(f"an entry has no name. Allowed: {', '.join(_NAMES)}")
    about = {**entry, **(entry["meta"] if isinstance(entry.get("meta"), Mapping) else {})}
    size = next((about[key] for key in _SIZES if isinstance(about.get(key), int)), None)
    return name, size


def _to_key(name: str, folder: str, bucket: str) -> str:
    scheme, separator, rest = name.partition("://")
    if separator:
        rest = unquote(rest.partition("?")[0]) if scheme.startswith("http") else rest
        # The bucket, or an account, comes first; of a web address, it may be part of the host.
        key = rest.partition(f"{bucket}/" if f"{bucket}/" in rest else "/")[2]
    else:
        key = name if name.startswith(folder) else folder + name.removeprefix("./")
    if not key.startswith(folder) or "/../" in f"/{key}":
        raise ManifestError(f"{name!r} is outside the folder of the set")
    return key
