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
    """Turns structs into columns, at all depths."""

    separator: str = Field(
        "_", pattern=r"^[A-Za-z0-9_]+$", description="Separator between the names, as in `address_city`."
    )
    columns: FieldNames = Field((), description="Structs to flatten. Default: all.")
    explode: FieldNames = Field(
        (),
        description="Arrays to explode into one row per element (an empty array gives one row with null). "
        "Other arrays stay unchanged.",
    )


class MaskConfig(Section):
    """Masks the values of columns. The columns become text, and null stays null."""

    columns: FieldNames = Field(min_length=1, description="Columns to mask.")
    keep_last: int | None = Field(
        None,
        ge=0,
        le=1000,
        description="Number of trailing characters to keep; the others become `*`. Values of at most this "
        "length are masked completely. Default, without `replace_with`: 0.",
    )
    replace_with: str | None = Field(None, description="Text that replaces each value.")

    @model_validator(mode="after")
    def _check_combination(self) -> "MaskConfig":
        if self.keep_last is not None and self.replace_with is not None:
            raise SectionError(
                [(("replace_with",), "cannot be combined with `keep_last`; remove one of them")]
            )
        return self


class TransformStep(Section):
    """One transform of a table: exactly one of these kinds."""

    name: str | None = Field(None, min_length=1, description="Name in messages. Default: its number.")
    sql: str | None = Field(
        None,
        min_length=1,
        description="One SELECT in Spark SQL over the view `input`. It must select `_headwater_source`, as "
        "`*` does.",
    )
    sql_file: Annotated[Path, AfterValidator(_resolve)] | None = Field(
        None, description="File with the SELECT, relative to this one."
    )
    flatten: Annotated[FlattenConfig, BeforeValidator(_take_true_as_defaults)] | None = Field(
        None, description="Turn structs into columns; `true` uses the defaults."
    )
    rename: dict[str, str] = Field(
        {}, description="New column names by old ones.", examples=[{"cust_no": "customer_id"}]
    )
    cast: dict[str, str] = Field({}, description="SQL types by column.", examples=[{"price": "double"}])
    drop: FieldNames = Field((), description="Columns to drop.")
    keep: FieldNames = Field((), description="Columns to keep, in this order.")
    mask: MaskConfig | None = Field(None, description="Mask values of columns.")
    hash: FieldNames = Field(
        (),
        description="Columns to replace by the SHA-256, in hex, of the salt in the environment variable "
        f"{SALT_VARIABLE} and the value; null stays null.",
    )
    python: str | None = Field(
        None,
        pattern=r"^([A-Za-z_][\w.]*|.+\.py):[A-Za-z_]\w*$",
        description="`module:function` or `file.py:function` (relative to this file): takes the rows as a "
        "DataFrame and returns one.",
        examples=["cleaning:only_paid"],
    )
    java: str | None = Field(
        None,
        pattern=r"^[A-Za-z_$][\w$]*(\.[A-Za-z_$][\w$]*)*$",
        description="Class on Spark's class path that implements Hudi's `Transformer.apply`.",
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
            yield (kind,), "empty; specify at least one column"
        if not given and not empty:
            yield (), f"the transform does nothing; specify one of {', '.join(STEP_KINDS)}"
        for kind in given[1:]:
            yield (kind,), f"cannot be combined with `{given[0]}`; move it to a transform of its own"

    def _column_problems(self) -> Iterator[KeyProblem]:
        mask = self.mask.columns if self.mask else ()
        flatten = (*self.flatten.columns, *self.flatten.explode) if self.flatten else ()
        for key, names in (("drop", self.drop), ("keep", self.keep), ("hash", self.hash), ("mask", mask)):
            yield from (((key,), f"duplicate column {name!r}") for name in _list_doubles(names))
        yield from ((("flatten",), f"duplicate column {name!r}") for name in _list_doubles(flatten))
        for name in _list_doubles(self.rename.values()):
            yield ("rename",), f"two columns are renamed to {name!r}"
        for old, new in self.rename.items():
            if not STORABLE_NAME.fullmatch(new):
                yield ("rename", old), f"{new!r} is not a valid column name. Allowed: letters, digits, `_`"
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
