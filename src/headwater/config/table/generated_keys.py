"""What cannot be of a table whose keys Hudi generates: nothing there is found by a key."""

from collections.abc import Iterator

from headwater.config.hudi.checking import PREFIX
from headwater.config.table.fields import TableFields

Problem = tuple[tuple[str, ...], str]

_GENERATED = "`generated_keys`"
_WRITE = f"{PREFIX}datasource.write."
_ADDING = ("insert", "bulk_insert")

_REFUSED_OPTIONS = {
    f"{_WRITE}insert.drop.duplicates": "true",
    f"{PREFIX}combine.before.insert": "true",
    f"{PREFIX}populate.meta.fields": "false",
}
"""With these Hudi itself refuses the first write."""


def iter_generated_key_problems(table: TableFields) -> Iterator[Problem]:
    """What does not go together with `generated_keys`, as keys below the table with a sentence."""
    if not table.generated_keys:
        return
    if table.from_ is not None:
        yield (
            ("generated_keys",),
            f"cannot be beside `from: {table.from_}`: rows are found again by their key when the source's "
            "change; leave it out",
        )
        return
    yield from _iter_mode_problems(table)
    yield from _iter_hudi_problems(table)
    yield from _iter_option_problems(table)


def _iter_mode_problems(table: TableFields) -> Iterator[Problem]:
    if table.record_key:
        yield (
            ("record_key",),
            f"cannot be beside {_GENERATED}, with which no field is the key: leave one of them out",
        )
    elif table.effective_mode != "append":
        yield (
            ("generated_keys",),
            f"cannot be with `mode: {table.effective_mode}`, which finds rows by their key; use "
            "`mode: append`",
        )


def _iter_hudi_problems(table: TableFields) -> Iterator[Problem]:
    if table.filter_duplicates:
        yield (
            ("filter_duplicates",),
            f"cannot be with {_GENERATED}: every row has a key of its own; use a `record_key`",
        )
    if table.cdc != "off":
        yield (
            ("cdc",),
            f"{table.cdc!r} cannot be with {_GENERATED}: the log would not say which row was deleted. "
            "Allowed: off; `headwater changes` tells deletes without a log",
        )
    if table.index is None:
        return
    if table.index.type == "bucket":
        text = "computes the file of a row from the fields of its key, and there are none"
    elif not table.index.type.endswith("record_level"):
        text = "has no meaning: no key is looked up when rows are only added"
    else:
        return
    yield (
        ("index", "type"),
        f"{table.index.type!r} {text} ({_GENERATED}). Allowed: record_level, global_record_level; or leave "
        "`index` out",
    )


def _iter_option_problems(table: TableFields) -> Iterator[Problem]:
    given = {key: value.strip() for key, value in table.hoodie.items()}
    key = f"{_WRITE}recordkey.field"
    if key in given:
        yield ("hoodie", key), f"cannot be beside {_GENERATED}: leave one of them out"
    key = f"{_WRITE}operation"
    if given.get(key, "insert").lower() not in _ADDING:
        allowed = ", ".join(_ADDING)
        yield ("hoodie", key), f"{given[key]!r} needs keys, and Hudi generates them. Allowed: {allowed}"
    key = f"{PREFIX}index.type"
    if given.get(key, "").upper() == "BUCKET":
        yield ("hoodie", key), f"{given[key]!r} cannot be with {_GENERATED}: it needs the fields of a key"
    for key, value in _REFUSED_OPTIONS.items():
        if given.get(key, "").lower() == value:
            yield ("hoodie", key), f"{value!r} cannot be with {_GENERATED}: Hudi refuses it; leave it out"
