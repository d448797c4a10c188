"""What `headwater forget` does: choose subjects, then plan, erase, release, list or check."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headwater.app.application import App
from headwater.app.erasure.erasure import Erasure
from headwater.app.erasure.report import ErasureReport, check_signature
from headwater.app.erasure.subjects_given import hash_keys, read_keys_file
from headwater.config.settings import Settings
from headwater.errors import TableNotFoundError, UsageError
from headwater.lake.erasure.subjects import Secret, SubjectHasher
from headwater.lake.layout import find_address
from headwater.lake.snapshot_reader import SnapshotReader


@dataclass(frozen=True, slots=True)
class Subjects:
    """The subjects of a command: `keys` of one column, a file of them, or (`again`) all suppressed ones.

    `by` are the columns; empty for the record key.
    """

    keys: tuple[str, ...] = ()
    file: Path | None = None
    by: tuple[str, ...] = ()
    again: bool = False


@dataclass(frozen=True, slots=True)
class Listed:
    """The number of suppressed subjects of a table by some columns."""

    columns: tuple[str, ...]
    subjects: int


@dataclass(frozen=True, slots=True)
class Checked:
    """A report with a valid signature, and what a new scan finds."""

    report: str
    scanned: ErasureReport

    @property
    def is_erased(self) -> bool:
        """True if no file has, or may have, a subject."""
        return self.scanned.is_erased


def check_table(settings: Settings, table: str) -> None:
    """Raise `UsageError` unless rows of the table are read from objects."""
    if table in settings.object_tables:
        return
    if table in settings.derived_tables:
        sources = ", ".join(settings.derived_tables[table].sources)
        raise UsageError(
            f"table {table} is derived: its rows come from {sources}",
            hint="forget the subjects of the source; derived tables are erased with it",
        )
    find_address(settings, table)
    raise UsageError(
        f"{table} is one of headwater's own tables",
        hint=f"specify one of: {', '.join(settings.object_tables)}",
    )


def choose_columns(settings: Settings, table: str, subjects: Subjects) -> tuple[str, ...]:
    """Return the columns that identify the subjects. Raises `UsageError` if none are known."""
    columns = subjects.by or settings.tables[table].record_key
    if not columns:
        raise UsageError(
            f"table {table} has no record key", hint="specify the columns of the keys with --by COLUMN"
        )
    if subjects.keys and len(columns) > 1:
        raise UsageError(
            f"a key of {table} has {len(columns)} columns: {', '.join(columns)}",
            hint="list the keys in a file with these columns: --keys-file FILE",
        )
    return tuple(columns)


def build_erasures(app: App, table: str, subjects: Subjects, *, dry_run: bool) -> list[Erasure]:
    """Return the erasures of a command, one for each set of columns. Raises `HeadwaterError`.

    Without `dry_run`, call it inside `hold_for_command`: the first erasure of a lake creates its secret.
    """
    check_table(app.settings, table)
    # Hashes of a dry run are compared in this process only, so any secret will do.
    secret = (app.register.find_secret() or Secret(b"")) if dry_run else app.register.ensure_secret()
    if subjects.again:
        suppressed = app.register.load(table).suppressed
        if not suppressed:
            raise UsageError(f"no subject of {table} is suppressed", hint="specify --key or --keys-file")
        return [Erasure(app, table, SubjectHasher.of(secret, one.columns), one.hashes) for one in suppressed]
    hasher = SubjectHasher.of(secret, choose_columns(app.settings, table, subjects))
    return [Erasure(app, table, hasher, _hash(app, table, hasher, subjects))]


def _hash(app: App, table: str, hasher: SubjectHasher, subjects: Subjects) -> frozenset[str]:
    keys: list[tuple[str, ...]] = [(key,) for key in subjects.keys]
    if subjects.file is not None:
        keys += read_keys_file(subjects.file, hasher.columns)
    if not keys:
        raise UsageError("no key is given", hint="specify --key or --keys-file; --again repeats all")
    address = find_address(app.settings, table)
    reader = SnapshotReader(address.path, address.storage_options)
    if not reader.exists():
        raise TableNotFoundError(
            f"table {table}: no Hudi table exists at {address.path}",
            hint="a table is created with its first rows: `headwater run --once`",
        )
    return hash_keys(hasher, keys, reader.schema, table)


def release(app: App, table: str, subjects: Subjects) -> int:
    """Allow the rows of subjects again; return how many subjects were suppressed.

    Writes; call it inside `hold_for_command`. The next read of an object adds their rows.
    """
    check_table(app.settings, table)
    hasher = SubjectHasher.of(app.register.ensure_secret(), choose_columns(app.settings, table, subjects))
    entry = app.register.load(table)
    hashes = _hash(app, table, hasher, subjects)
    after = entry.release(hasher.columns, hashes)
    app.register.save(table, after)
    return sum(len(one.hashes) for one in entry.suppressed) - sum(len(one.hashes) for one in after.suppressed)


def list_suppressed(app: App, table: str) -> list[Listed]:
    """Return how many subjects of a table are suppressed, by columns."""
    check_table(app.settings, table)
    return [Listed(one.columns, len(one.hashes)) for one in app.register.load(table).suppressed]


def check_report(app: App, table: str, path: Path) -> Checked:
    """Verify the signature of a report, and scan the files of its tables again. Raises `UsageError`."""
    secret = app.register.find_secret()
    if secret is None:
        raise UsageError("nothing was ever forgotten in this lake", hint="the report is of another lake")
    document = check_signature(_read(path), secret)
    if document["table"] != table:
        raise UsageError(f"the report is of table {document['table']}", hint="specify that table")
    return Checked(str(path), _build_scanned(app, document, secret).plan())


def _build_scanned(app: App, document: dict[str, Any], secret: Secret) -> Erasure:
    columns: Sequence[str] = document["columns"]
    hasher = SubjectHasher.of(secret, tuple(columns))
    return Erasure(app, document["table"], hasher, frozenset(document["subjects"]))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"--check {path}: {error.strerror}", hint="specify the file of a report") from error
