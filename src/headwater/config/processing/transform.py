"""`transform:` of a table: a chain of transforms between parsing and commit."""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field, PrivateAttr, ValidationInfo, model_validator

from headwater.config.file_paths import resolve_path
from headwater.config.problems.nearest import find_nearest
from headwater.config.section import FieldNames, Section, SectionError

StepKind = Literal[
    "sql", "sql_file", "flatten", "rename", "cast", "drop", "keep", "mask", "hash", "python", "java"
]
STEP_KINDS: tuple[StepKind, ...] = get_args(StepKind)
INPUT_VIEW = "input"
"""The name of the rows in the SQL of a transform or a check."""
SALT_VARIABLE = "HEADWATER_HASH_SALT"
"""The environment variable with the salt of `hash`; it must not be in the file."""
STORABLE_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)

_LISTS: tuple[StepKind, ...] = ("rename", "cast", "drop", "keep", "hash")
# fmt: off
_TYPES = (
    "boolean", "byte", "tinyint", "short", "smallint", "int", "integer", "long", "bigint", "float", "real",
    "double", "decimal", "dec", "numeric", "string", "char", "varchar", "binary", "date", "timestamp",
    "timestamp_ntz", "timestamp_ltz", "array", "struct", "map",
)
# fmt: on
_FIRST_WORD = re.compile(r"\s*(\w+)")

KeyProblem = tuple[tuple[str, ...], str]


def _resolve(path: Path, info: ValidationInfo) -> Path:
    return resolve_path(path, info)


def _take_true_as_defaults(value: object) -> object:
    return {} if value is True else value


class FlattenConfig(Section):
    """Structs become columns of their own, at all depths."""

    separator: str = Field(
        "_", pattern=r"^[A-Za-z0-9_]+$", description="Stands between the names: `address_city`."
    )
    columns: FieldNames = Field((), description="Only these structs. Default: all of them.")
    explode: FieldNames = Field(
        (),
        description="Arrays of which each element becomes a row (an empty one stays one row, with null); "
        "arrays are left as they are otherwise.",
    )


class MaskConfig(Section):
    """Values of columns are made unreadable; the columns become text, and null stays null."""

    columns: FieldNames = Field(min_length=1, description="The columns.")
    keep_last: int | None = Field(
        None,
        ge=0,
        le=1000,
        description="So many characters at the end stay, the others become `*`; a value that is no longer "
        "than that is masked whole. Default, without `replace_with`: 0.",
    )
    replace_with: str | None = Field(None, description="Each value becomes this text.")

    @model_validator(mode="after")
    def _check_combination(self) -> "MaskConfig":
        if self.keep_last is not None and self.replace_with is not None:
            raise SectionError([(("replace_with",), "cannot be beside `keep_last`: leave one of them out")])
        return self


class TransformStep(Section):
    """One step of a table's `transform`: exactly one of these kinds."""

    name: str | None = Field(None, min_length=1, description="What messages call it. Default: its place.")
    sql: str | None = Field(
        None,
        min_length=1,
        description="One SELECT in Spark's SQL; the rows are the view `input`. It selects "
        "`_headwater_source`, as `*` does.",
    )
    sql_file: Annotated[Path, AfterValidator(_resolve)] | None = Field(
        None, description="The same from a file, relative to this one."
    )
    flatten: Annotated[FlattenConfig, BeforeValidator(_take_true_as_defaults)] | None = Field(
        None, description="Structs become columns; `true`: with the defaults."
    )
    rename: dict[str, str] = Field(
        {}, description="New names by old ones.", examples=[{"cust_no": "customer_id"}]
    )
    cast: dict[str, str] = Field(
        {}, description="Types as in SQL, by column.", examples=[{"price": "double"}]
    )
    drop: FieldNames = Field((), description="Columns that go.")
    keep: FieldNames = Field((), description="The only columns that stay, in this order.")
    mask: MaskConfig | None = Field(None, description="Values are made unreadable.")
    hash: FieldNames = Field(
        (),
        description="Columns whose values become the SHA-256 of the salt in the environment variable "
        f"{SALT_VARIABLE} and the value, in hex; null stays null.",
    )
    python: str | None = Field(
        None,
        pattern=r"^([A-Za-z_][\w.]*|.+\.py):[A-Za-z_]\w*$",
        description="`module:function` or `file.py:function` (relative to this file): gets the rows as a "
        "DataFrame and returns one.",
        examples=["cleaning:only_paid"],
    )
    java: str | None = Field(
        None,
        pattern=r"^[A-Za-z_$][\w$]*(\.[A-Za-z_$][\w$]*)*$",
        description="A class on the session's class path with Hudi's `Transformer.apply`.",
        examples=["com.acme.OnlyPaid"],
    )
    _folder: Path = PrivateAttr(Path())

    def model_post_init(self, context: object) -> None:
        """Record the file's folder, for modules stored next to it."""
        folder = context.get("folder") if isinstance(context, Mapping) else None
        self._folder = folder if isinstance(folder, Path) else Path.cwd()

    @property
    def folder(self) -> Path:
        """Return the folder of the configuration file."""
        return self._folder

    @property
    def kind(self) -> StepKind:
        """Return the kind of the transform."""
        return next(kind for kind in STEP_KINDS if self._has(kind))

    def label(self, number: int) -> str:
        """Return the name in messages; `number` counts from 1."""
        return f"step {number} ({self.kind})" if self.name is None else f"step {self.name!r}"

    def _has(self, kind: StepKind) -> bool:
        return getattr(self, kind) not in (None, (), {})

    @model_validator(mode="before")
    @classmethod
    def _take_bare_flatten(cls, given: object) -> object:
        # `- flatten:` without a value means the defaults, not a missing transform.
        if isinstance(given, dict) and given.keys() - {"name"} == {"flatten"} and given["flatten"] is None:
            return {**given, "flatten": {}}
        return given

    @model_validator(mode="after")
    def _check(self) -> "TransformStep":
        problems = [*self._kind_problems(), *self._column_problems()]
        if problems:
            raise SectionError(problems)
        return self

    def _kind_problems(self) -> Iterator[KeyProblem]:
        given = [kind for kind in STEP_KINDS if self._has(kind)]
        empty = [kind for kind in _LISTS if kind in self.model_fields_set and not given]
        for kind in empty:
            yield (kind,), "nothing in it; at least one column is needed"
        if not given and not empty:
            yield (), f"the step does nothing: give one of {', '.join(STEP_KINDS)}"
        for kind in given[1:]:
            yield (kind,), f"cannot be beside `{given[0]}`: a step does one thing; make it a step of its own"

    def _column_problems(self) -> Iterator[KeyProblem]:
        mask = self.mask.columns if self.mask else ()
        flatten = (*self.flatten.columns, *self.flatten.explode) if self.flatten else ()
        for key, names in (("drop", self.drop), ("keep", self.keep), ("hash", self.hash), ("mask", mask)):
            yield from (((key,), f"{name!r} is there twice") for name in _list_doubles(names))
        yield from ((("flatten",), f"{name!r} is there twice") for name in _list_doubles(flatten))
        for name in _list_doubles(self.rename.values()):
            yield ("rename",), f"two columns become {name!r}"
        for old, new in self.rename.items():
            if not STORABLE_NAME.fullmatch(new):
                yield ("rename", old), f"{new!r} cannot be a column's name; allowed: letters, digits, `_`"
        for column, text in self.cast.items():
            found = _FIRST_WORD.match(text)
            word = found[1].lower() if found else ""
            if word not in _TYPES:
                meant = find_nearest(word, _TYPES)
                more = f" Did you mean {meant!r}?" if meant else ""
                yield ("cast", column), f"{text!r} is not a type.{more} Allowed: {', '.join(_TYPES)}"


def _list_doubles(names: Iterable[str]) -> list[str]:
    listed = [name.lower() for name in names]
    return sorted({name for name in listed if listed.count(name) > 1})
