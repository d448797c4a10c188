"""Conflicts of a table that is built from several tables."""

from collections.abc import Iterator

from headwater.config.table.fields import TableFields
from headwater.config.table.outside import OutsideTable

Problem = tuple[tuple[str | int, ...], str]


def iter_joined_problems(table: TableFields) -> Iterator[Problem]:
    """Yield problems of `from` with its entries, and keys that a list of tables requires."""
    if isinstance(table.from_, OutsideTable) and table.from_.as_ is not None:
        yield ("from", "as"), "not applicable to a single table, which SQL reads as `input`; remove it"
    if not isinstance(table.from_, tuple):
        return
    if len(table.from_) < 2:
        one = table.sources[0] if table.from_ else "TABLE"
        yield ("from",), f"a list requires at least two tables; for one table, write `from: {one}`"
    yield from _iter_entry_problems(table.from_)
    if table.refresh not in ("changed_keys", "full"):
        given = f"{table.refresh!r} requires a single table" if table.refresh else "missing"
        yield (
            ("refresh",),
            f"{given}; `from: {table.from_text}` joins tables. Allowed: changed_keys, full",
        )
    if not table.transform or table.transform[0].kind not in ("sql", "sql_file"):
        yield (
            ("transform",),
            f"with `from: {table.from_text}`, the first transform must be `sql` or `sql_file`: a SELECT that "
            "reads these tables by name",
        )


def _iter_entry_problems(entries: tuple[str | OutsideTable, ...]) -> Iterator[Problem]:
    names, sources = set(), set()
    for at, entry in enumerate(entries):
        if isinstance(entry, OutsideTable) and entry.as_ is None:
            yield ("from", at, "as"), "missing; in a list, it is the name of the table in SQL"
            continue
        name, source = (entry, entry) if isinstance(entry, str) else (entry.as_ or "", entry.address)
        if name.lower() in names:
            yield ("from", at), f"duplicate name {name!r}: SQL does not distinguish upper and lower case"
        elif source in sources:
            yield ("from", at), f"{source!r} is in the list already; SQL may read a table several times"
        names.add(name.lower())
        sources.add(source)
