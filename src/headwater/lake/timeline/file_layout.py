"""The layout of a timeline's files since Hudi 1.0. Pure.

Active actions are files of their own. Archived ones are in Parquet files of a range of time each: archiving
adds small files, and Hudi merges them into larger ones. A manifest names those that count.
"""

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from typing import Any, cast

from headwater.errors import LakeError
from headwater.lake.table_files import StoredFile
from headwater.lake.timeline.instants import Instant

LAYOUT = 2
"""The timeline layout version since Hudi 1.0; earlier layouts lack completion times."""
Metadata = Mapping[str, Any]
VERSION_FILE = "_version_"
"""Names the newest manifest."""
NAME_COLUMNS = ("instantTime", "completionTime", "action")
_AVRO = b"Obj\x01"
_READ_BYTES = 32 * 1024 * 1024


def find_manifest(version: bytes) -> str | None:
    """Return the name of the manifest by the content of `VERSION_FILE`; None if it names none."""
    text = version.decode().strip()
    return f"manifest_{int(text)}" if text.isdigit() else None


def parse_manifest(content: bytes) -> list[StoredFile]:
    """Return the files of a manifest by name, with their sizes, in the order of their actions."""
    files = (StoredFile(str(file["fileName"]), int(file["fileLen"])) for file in json.loads(content)["files"])
    return sorted(files, key=lambda file: file.path)


def select_files(files: Sequence[StoredFile], since: str, until: str = "") -> list[StoredFile]:
    """Return the files that may have actions requested in [since, until]; an empty end is open."""
    return [file for file in files if _may_overlap(file.name, since, until)]


def _may_overlap(name: str, since: str, until: str) -> bool:
    first, _, rest = name.partition("_")
    last = rest.partition("_")[0]
    if not (first.isdigit() and last.isdigit()):
        return True
    return last >= since and (not until or first <= until)


def divide_files(files: Sequence[StoredFile]) -> Iterator[list[StoredFile]]:
    """Yield the files in groups that are read at once: one file, or several small ones."""
    group: list[StoredFile] = []
    for file in files:
        if group and sum(other.size for other in group) + file.size > _READ_BYTES:
            yield group
            group = []
        group.append(file)
    if group:
        yield group


def find_day_before(instant: str) -> str:
    """Return an instant at least a day before: rows committed after `instant` were requested since then.

    A planned table service may be older; its commit carries nothing of ours. Empty, which is before all
    others, for text that is no time.
    """
    try:
        # The number before the first instant of a month has the day 00.
        day = date(int(instant[:4]), int(instant[4:6]), max(1, int(instant[6:8])))
        return f"{day - timedelta(days=1):%Y%m%d}000000000"
    except (ValueError, OverflowError):
        return ""


def decode_metadata(path: str, instant: Instant, content: bytes) -> Metadata | LakeError:
    """Decode an action's metadata, an Avro container with one record; an error if it is corrupt.

    `path` is the table's.
    """
    # Decoding corrupt Avro raises errors of every kind.
    try:
        return _decode(content)
    except Exception as error:
        reason = str(error) or type(error).__name__
        return LakeError(
            f"{path}: {instant.action} {instant.requested} cannot be read: {reason}",
            hint="its file on the timeline is corrupt; Hudi fails on it, too",
        )


def _decode(content: bytes) -> Metadata:
    import fastavro

    if not content:
        raise ValueError("its file is empty")
    if not content.startswith(_AVRO):
        raise ValueError("its file is not Avro")
    return cast("Metadata", next(iter(fastavro.reader(io.BytesIO(content)))))
