"""Lists a source and reads some of its objects, within limits of objects, bytes and seconds."""

import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from headwater.config.source import SourceConfig
from headwater.errors import HeadwaterError, ObjectError, ObjectTooLargeError
from headwater.ingest.formats import ObjectData, open_parts
from headwater.ingest.formats.reader_options import ReaderOptions
from headwater.observability.clock import Clock
from headwater.sources.lister import ListedObject, Lister
from headwater.sources.object_store import ObjectRef
from headwater.sources.registry import build_object_store, build_source

_JUMP_AFTER = 2_000
_LAST_CHARACTER = "\U0010ffff"


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one inspection: of the listing, of each table's sample, and of all samples together.

    `seconds` hold for the listing and for the samples, each.
    """

    objects: int = 100_000
    seconds: float = 20.0
    files_a_table: int = 8
    bytes_a_file: int = 16 * 1024 * 1024
    bytes: int = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Listing:
    """Listed objects, with keys relative to the source's prefix. `limit` says why it is incomplete."""

    objects: tuple[ListedObject, ...]
    limit: str = ""


@dataclass(frozen=True, slots=True)
class SampledFile:
    """One object's bytes, decompressed; without `is_complete`, the first ones."""

    listed: ListedObject
    data: bytes
    is_complete: bool = True


class _TimeUpError(Exception):
    """The listing takes longer than allowed."""


def list_source(source: SourceConfig, limits: Limits, clock: Clock) -> Listing:
    """List a source. Folders with many objects are listed in part, so that the others are observed, too.

    Raises `SourceError` if it does not exist, does not answer, or denies access.
    """
    built = build_source(source)
    for check in built.list_preflight_checks(captures=False):
        check()
    end = clock.monotonic() + limits.seconds

    def pace() -> None:
        if clock.monotonic() > end:
            raise _TimeUpError

    found: list[ListedObject] = []
    limit = ""
    try:
        with built.open_lister(pace) as lister:
            for one in iter_some(lister, source.prefix, jumps=source.lists_ranges):
                found.append(replace_key(one, source.prefix))
                pace()
                if len(found) >= limits.objects:
                    limit = f"the first {len(found):,} objects were listed"
                    break
    except _TimeUpError:
        limit = f"the listing was stopped after {limits.seconds:g} s and {len(found):,} objects"
    return Listing(tuple(found), limit)


def replace_key(listed: ListedObject, prefix: str) -> ListedObject:
    """Return the object with its key relative to the prefix."""
    return replace(listed, key=listed.key.removeprefix(prefix)) if prefix else listed


def iter_some(lister: Lister, prefix: str, *, jumps: bool) -> Iterator[ListedObject]:
    """Yield objects; with `jumps`, of a folder with very many objects only the first ones."""
    after = ""
    while True:
        top, count = "", 0
        for one in lister.iter_objects(prefix, after):
            if one.key.endswith("/"):
                continue  # a folder that a console created
            yield one
            found = one.key[len(prefix) :].split("/", 1)[0]
            top, count = found, count + 1 if found == top else 1
            if jumps and count >= _JUMP_AFTER and "/" in one.key[len(prefix) :]:
                after = f"{prefix}{top}/{_LAST_CHARACTER}"
                break
        else:
            return


class Sampler:
    """Reads objects until a limit is reached. `failures` are those that could not be read."""

    def __init__(self, source: SourceConfig, limits: Limits, clock: Clock) -> None:
        self._source = source
        self._limits = limits
        self._clock = clock
        self._store = build_object_store(build_source(source).build_store_config())
        self._end = clock.monotonic() + limits.seconds
        self._bytes = 0
        self.failures: list[str] = []

    def read(self, objects: Sequence[ListedObject], count: int, file_format: str) -> list[SampledFile]:
        """Read at most `count` objects, spread over all of them; in the order of their modification."""
        self.failures = []
        readable = [one for one in objects if one.size and self._may_read(one, file_format)]
        found = []
        for one in _spread(readable, min(count, self._limits.files_a_table)):
            if self._bytes >= self._limits.bytes or self._clock.monotonic() > self._end:
                break
            try:
                found.append(self._read_one(one, file_format))
            except ObjectError as error:
                self.failures.append(f"{one.key}: {error.message}")
        return sorted(found, key=lambda file: (file.listed.last_modified, file.listed.key))

    def _may_read(self, listed: ListedObject, file_format: str) -> bool:
        return listed.size <= self._limits.bytes_a_file or self._reads_head(listed, file_format)

    def _reads_head(self, listed: ListedObject, file_format: str) -> bool:
        is_text = file_format in ("csv", "json", "json_array", "text")
        ending = listed.key.rsplit(".", 1)[-1].lower()
        return self._source.type == "local" and is_text and ending not in ("bz2", "zst", "zstd")

    def _read_one(self, listed: ListedObject, file_format: str) -> SampledFile:
        limit = self._limits.bytes_a_file
        if listed.size > limit:
            data = _read_head(Path(self._source.location, listed.key), limit)
            self._bytes += len(data)
            return SampledFile(listed, data, is_complete=False)
        key = f"{self._source.prefix}{listed.key}"
        ref = ObjectRef(self._source.type, self._source.location, key, size=listed.size)
        content = self._store.read(ref, limit)
        self._bytes += len(content.data)
        try:
            part = next(iter(open_parts(ObjectData(key, content.data), file_format, ReaderOptions({}))))
        except ObjectTooLargeError:
            return SampledFile(listed, b"", is_complete=False)
        return SampledFile(listed, part.data)


def _read_head(path: Path, limit: int) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(limit)
    except OSError as error:
        raise ObjectError(f"{path}: {error.strerror}") from error
    if path.suffix.lower() in (".gz", ".gzip"):
        with suppress(zlib.error):
            return zlib.decompressobj(wbits=31).decompress(data, limit)
        return b""
    return data


def _spread(objects: Sequence[ListedObject], count: int) -> list[ListedObject]:
    """Return at most `count` objects, among them the first and the last."""
    if len(objects) <= count:
        return list(objects)
    if count == 1:
        return [objects[-1]]
    return [objects[at * (len(objects) - 1) // (count - 1)] for at in range(count)]


def explain_without_inspection(error: HeadwaterError) -> HeadwaterError:
    """Return the error with the way to write a configuration without access to the source."""
    way = "headwater init --no-inspect writes the file without reading the source"
    return type(error)(error.message, hint=f"{error.hint}; {way}" if error.hint else way)
