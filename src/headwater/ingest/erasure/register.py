"""`Register`: the suppressed subjects of each table, and the rows that erasures removed, as JSON files.

The secret and the list belong together: without the secret, the list matches no row.
"""

import json
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from headwater.ingest.planning.lost_rows import LostRows
from headwater.lake.erasure.subjects import Secret, SubjectHasher
from headwater.lake.file_store import FileStore

_SECRET_FILE = "secret.json"  # noqa: S105 - the name of a file
_SECRET_BYTES = 32


@dataclass(frozen=True, slots=True)
class Suppression:
    """The hashes of suppressed subjects by these columns."""

    columns: tuple[str, ...]
    hashes: frozenset[str]


@dataclass(frozen=True, slots=True)
class TableEntry:
    """What the register knows of one table. Pure.

    `sources` are hashes of the erased rows themselves, for the chunks of a table that is indexed. `cleared`
    is the newest commit, by subject, when the table had no row of it any more: no later file has one.
    """

    suppressed: tuple[Suppression, ...] = ()
    lost: tuple[LostRows, ...] = ()
    sources: frozenset[str] = frozenset()
    cleared: Mapping[str, str] = field(default_factory=dict)

    def suppress(self, columns: Sequence[str], hashes: Collection[str]) -> "TableEntry":
        """Return the entry with more suppressed subjects."""
        wanted = tuple(name.lower() for name in columns)
        known = {one.columns: one.hashes for one in self.suppressed}
        known[wanted] = known.get(wanted, frozenset()) | frozenset(hashes)
        return replace(self, suppressed=tuple(Suppression(*one) for one in sorted(known.items())))

    def release(self, columns: Sequence[str], hashes: Collection[str]) -> "TableEntry":
        """Return the entry without these subjects: later reads may write their rows again."""
        wanted = tuple(name.lower() for name in columns)
        kept = (
            Suppression(one.columns, one.hashes - set(hashes)) if one.columns == wanted else one
            for one in self.suppressed
        )
        cleared = {subject: at for subject, at in self.cleared.items() if subject not in hashes}
        return replace(self, suppressed=tuple(one for one in kept if one.hashes), cleared=cleared)

    def clear(self, hashes: Collection[str], instant: str, *, deleted: bool) -> "TableEntry":
        """Return the entry after the rows of these subjects were deleted, if there were any (`deleted`)."""
        new = {one: instant for one in hashes if deleted or one not in self.cleared}
        return replace(self, cleared={**self.cleared, **new})

    def find_cleared(self, hashes: Collection[str]) -> str:
        """Return the instant after which no file has a row of these subjects; empty if that is unknown."""
        found = [self.cleared.get(one, "") for one in hashes]
        return max(found) if all(found) else ""

    def add_sources(self, hashes: Collection[str]) -> "TableEntry":
        """Return the entry with more erased rows."""
        return replace(self, sources=self.sources | set(hashes))

    def add_lost(self, rows: Sequence[LostRows]) -> "TableEntry":
        """Return the entry with more deleted rows; a repeated delete of the same rows counts once."""
        known = {(one.uri, one.version, one.event_id, one.subject): one for one in self.lost}
        known |= {(one.uri, one.version, one.event_id, one.subject): one for one in rows}
        return replace(self, lost=tuple(known[key] for key in sorted(known)))


class Register:
    """The files of one lake. Methods raise `LakeError`. Written under the lease of a command."""

    def __init__(self, store: FileStore) -> None:
        self._store = store

    def find_secret(self) -> Secret | None:
        """Return the secret; None if nothing was ever forgotten."""
        content = self._store.read_if_there(_SECRET_FILE)
        return Secret(bytes.fromhex(json.loads(content)["secret"])) if content else None

    def ensure_secret(self) -> Secret:
        """Return the secret, created on first use."""
        found = self.find_secret()
        if found is None:
            found = Secret(secrets.token_bytes(_SECRET_BYTES))
            self._store.write(_SECRET_FILE, json.dumps({"secret": found.value.hex()}).encode())
        return found

    def load(self, table: str) -> TableEntry:
        """Return the entry of a table; an empty one if it has none."""
        content = self._store.read_if_there(_name_file(table))
        return parse_entry(content) if content else TableEntry()

    def save(self, table: str, entry: TableEntry) -> None:
        """Write the entry of a table."""
        self._store.write(_name_file(table), format_entry(entry))

    def find_report(self, name: str) -> str:
        """Return the address of a report by the name of its file."""
        return f"{self._store.url}/reports/{name}"

    def write_report(self, name: str, content: bytes) -> None:
        """Write a report."""
        self._store.write(f"reports/{name}", content)


@dataclass
class Suppressions:
    """The suppressed subjects of one table, read once on first use."""

    register: Register
    table: str

    @cached_property
    def lists(self) -> tuple[tuple[SubjectHasher, frozenset[str]], ...]:
        """The hasher of each set of columns, with the suppressed hashes. Raises `LakeError`."""
        suppressed = self.register.load(self.table).suppressed
        secret = self.register.find_secret() if suppressed else None
        if secret is None:
            return ()
        return tuple((SubjectHasher.of(secret, one.columns), one.hashes) for one in suppressed)


def format_entry(entry: TableEntry) -> bytes:
    """Return the content of a table's file."""
    document = {
        "suppressed": [
            {"columns": list(one.columns), "hashes": sorted(one.hashes)} for one in entry.suppressed
        ],
        "lost": [
            [one.uri, one.version, one.event_id, one.subject, one.rows, one.instant] for one in entry.lost
        ],
        "sources": sorted(entry.sources),
        "cleared": dict(sorted(entry.cleared.items())),
    }
    return json.dumps(document, indent=1).encode("utf-8", "surrogatepass")


def parse_entry(content: bytes) -> TableEntry:
    """Return the entry in a table's file."""
    document = json.loads(content.decode("utf-8", "surrogatepass"))
    return TableEntry(
        tuple(Suppression(tuple(one["columns"]), frozenset(one["hashes"])) for one in document["suppressed"]),
        tuple(LostRows(*row) for row in document["lost"]),
        frozenset(document["sources"]),
        document["cleared"],
    )


def _name_file(table: str) -> str:
    return f"tables/{table}.json"
