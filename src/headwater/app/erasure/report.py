"""The report of an erasure: what was removed, what remains, what was not covered; and its signature. Pure."""

import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from headwater.errors import UsageError
from headwater.lake.erasure.scanning import FoundFile, Scan
from headwater.lake.erasure.subjects import Secret

_VERSION = 1
# Of a time in UTC, down to microseconds.
_DIGITS = 20
NOT_COVERED: Mapping[str, str] = {
    "source objects": "they are not headwater's: rewrite or delete those named under `objects`",
    "backups": "copies of the lake elsewhere, also those of the store, such as object versions",
    "events, ledger and timeline": "they hold names of objects, and no rows",
    "quarantine, payloads that are not JSON": "their columns are unknown until they parse",
}
"""What no erasure covers, with the reason."""


@dataclass(frozen=True, slots=True)
class Remaining:
    """A file that still has, or may have, a subject: `rows` in it; `savepoints` retain it."""

    path: str
    rows: int
    unreadable: str = ""
    savepoints: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Structure:
    """What was done to one table, and what a scan of all its files found afterwards."""

    name: str
    rows_deleted: int = 0
    deleted_at: str = ""
    compacted_at: tuple[str, ...] = ()
    cleaned_at: str = ""
    files_removed: int = 0
    metadata_rebuilt: bool = False
    files_scanned: int = 0
    bytes_scanned: int = 0
    remaining: tuple[Remaining, ...] = ()


@dataclass(frozen=True, slots=True)
class ErasureReport:
    """The result of `forget`. `subjects` are hashes; `objects` are known to have rows of them."""

    table: str
    columns: tuple[str, ...]
    subjects: tuple[str, ...]
    started_at: str
    finished_at: str
    structures: tuple[Structure, ...]
    objects: tuple[str, ...] = ()
    not_covered: Mapping[str, str] = field(default_factory=dict)
    dry_run: bool = False
    signature: str = ""
    address: str = ""

    @property
    def is_erased(self) -> bool:
        """True if no file of the covered structures has, or may have, a subject."""
        return not any(structure.remaining for structure in self.structures)


def judge_scan(scan: Scan, savepoints: Mapping[str, frozenset[str]]) -> tuple[Remaining, ...]:
    """Return the files that a scan found; `savepoints` are the names of files that each retains."""
    return tuple(_judge(found, savepoints) for found in scan.found)


def _judge(found: FoundFile, savepoints: Mapping[str, frozenset[str]]) -> Remaining:
    name = found.path.rpartition("/")[2]
    retained = tuple(sorted(instant for instant, names in savepoints.items() if name in names))
    return Remaining(found.path, sum(found.rows.values()), found.unreadable, retained)


def to_document(report: ErasureReport) -> dict[str, Any]:
    """Return the report as JSON-like data."""
    return {"version": _VERSION, "erased": report.is_erased, **asdict(report)}


def name_file(report: ErasureReport) -> str:
    """Return the name of the report's file."""
    digits = "".join(filter(str.isdigit, report.started_at))[:_DIGITS]
    return f"{report.table}-{digits}.json"


def sign(report: ErasureReport, secret: Secret) -> ErasureReport:
    """Return the report with its signature."""
    return replace(report, signature=_compute(to_document(report), secret))


def format_report(report: ErasureReport) -> bytes:
    """Return the content of a report's file."""
    return json.dumps(to_document(report), indent=2).encode("utf-8", "surrogatepass")


def check_signature(content: bytes, secret: Secret) -> dict[str, Any]:
    """Return the document of a report whose signature is valid. Raises `UsageError` otherwise."""
    try:
        document: dict[str, Any] = json.loads(content.decode("utf-8", "surrogatepass"))
        signature = str(document["signature"])
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(
            "the file is not a report of `headwater forget`", hint="specify the JSON file that it wrote"
        ) from error
    if not hmac.compare_digest(signature, _compute(document, secret)):
        raise UsageError(
            "the signature is not valid: the report was changed, or is of another lake",
            hint="use the original in the lake, below _headwater/forget/reports",
        )
    return document


def _compute(document: Mapping[str, Any], secret: Secret) -> str:
    content = json.dumps({**document, "signature": ""}, sort_keys=True, separators=(",", ":"))
    return hmac.new(secret.derive("report"), content.encode(), hashlib.sha256).hexdigest()


def describe(report: ErasureReport) -> Sequence[str]:
    """Return the report as lines of text."""
    verb = "would be deleted" if report.dry_run else "deleted"
    lines = [f"{len(report.subjects):,} subjects of {report.table} by {', '.join(report.columns)}"]
    for one in report.structures:
        lines.append(
            f"{one.name}: {one.rows_deleted:,} rows {verb}, {one.files_removed:,} older files removed, "
            f"{one.files_scanned:,} files with {one.bytes_scanned:,} bytes scanned"
        )
        for file in one.remaining:
            kept = f", retained by savepoint {', '.join(file.savepoints)}" if file.savepoints else ""
            what = file.unreadable or f"{file.rows:,} rows"
            lines.append(f"{one.name}: {file.path}: {what}{kept}")
    lines += [f"object with their rows: {uri}" for uri in report.objects]
    lines += [f"not covered: {name}: {why}" for name, why in report.not_covered.items()]
    return lines
