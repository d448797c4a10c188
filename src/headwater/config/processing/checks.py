"""`checks:` of a table: what its rows must satisfy before they are committed."""

from collections.abc import Iterator
from typing import Literal, get_args

from pydantic import Field, model_validator

from headwater.config.section import FieldNames, Section, SectionError

CheckKind = Literal["row_count", "sql", "unique", "not_null", "range"]
CHECK_KINDS: tuple[CheckKind, ...] = get_args(CheckKind)
OnFailure = Literal["fail", "warn", "quarantine"]
ROW_KINDS: frozenset[CheckKind] = frozenset({"not_null", "range"})
"""Kinds that judge each row separately."""

Scalar = bool | int | float | str
Bound = int | float | str
KeyProblem = tuple[tuple[str, ...], str]


class RowCountConfig(Section):
    """Allowed number of rows in a batch."""

    min: int | None = Field(None, ge=0, description="Minimum number of rows.")
    max: int | None = Field(None, ge=0, description="Maximum number of rows.")

    @model_validator(mode="after")
    def _check_bounds(self) -> "RowCountConfig":
        if self.min is None and self.max is None:
            raise SectionError([((), "neither `min` nor `max` is set; specify at least one")])
        if self.min is not None and self.max is not None and self.min > self.max:
            raise SectionError(
                [(("max",), f"{self.max} is less than `min: {self.min}`; no value could pass")]
            )
        return self


class RangeConfig(Section):
    """Allowed values of a column; null always passes."""

    column: str = Field(min_length=1, description="Column to check.")
    min: Bound | None = Field(None, description="Minimum value: a number, or text such as a date.")
    max: Bound | None = Field(None, description="Maximum value: a number, or text such as a date.")

    @model_validator(mode="after")
    def _check_bounds(self) -> "RangeConfig":
        if self.min is None and self.max is None:
            raise SectionError([((), "neither `min` nor `max` is set; specify at least one")])
        both = (self.min, self.max)
        if isinstance(self.min, str) != isinstance(self.max, str) and None not in both:
            raise SectionError(
                [(("max",), "one bound is text and the other a number; use the same type for both")]
            )
        numbers = [bound for bound in both if isinstance(bound, (int, float))]
        if len(numbers) == 2 and numbers[0] > numbers[1]:
            raise SectionError(
                [(("max",), f"{self.max} is less than `min: {self.min}`; no value could pass")]
            )
        return self


class CheckConfig(Section):
    """One check of a table's batches: exactly one of these kinds."""

    name: str | None = Field(None, min_length=1, description="Name in messages. Default: its number.")
    row_count: RowCountConfig | None = Field(None, description="Number of rows in the batch.")
    sql: str | None = Field(
        None,
        min_length=1,
        description="One SELECT in Spark SQL over the view `input`, the batch's rows. It returns one value.",
    )
    equals: Scalar | None = Field(None, description="Required value of `sql`.")
    not_equals: Scalar | None = Field(None, description="Forbidden value of `sql`.")
    unique: FieldNames = Field((), description="Columns whose values must be unique within the batch.")
    not_null: FieldNames = Field((), description="Columns that must not be null.")
    range: RangeConfig | None = Field(None, description="Bounds of a column's values.")
    on_failure: OnFailure = Field(
        "fail",
        description="`fail`: do not commit the batch, and stop the table. `warn`: commit it with a warning. "
        "`quarantine`: send the failing rows to quarantine and commit the others (not_null, range).",
    )

    @property
    def kind(self) -> CheckKind:
        """Return the kind of the check."""
        return next(kind for kind in CHECK_KINDS if self._has(kind))

    def label(self, number: int) -> str:
        """Return the name in messages; `number` counts from 1."""
        return f"check {number} ({self.kind})" if self.name is None else f"check {self.name!r}"

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns that it reads; empty for `row_count` and `sql`."""
        return (*self.unique, *self.not_null, *((self.range.column,) if self.range else ()))

    @property
    def is_routing(self) -> bool:
        """True if it removes rows from the batch instead of judging the whole batch."""
        return self.on_failure == "quarantine"

    def _has(self, kind: CheckKind) -> bool:
        return getattr(self, kind) not in (None, ())

    @model_validator(mode="after")
    def _check(self) -> "CheckConfig":
        problems = [*self._kind_problems()]
        problems = problems or [*self._combination_problems()]
        if problems:
            raise SectionError(problems)
        return self

    def _kind_problems(self) -> Iterator[KeyProblem]:
        given = [kind for kind in CHECK_KINDS if self._has(kind)]
        lists = ("unique", "not_null")
        empty = [kind for kind in lists if kind in self.model_fields_set and not given]
        for kind in empty:
            yield (kind,), "empty; specify at least one column"
        if not given and not empty:
            yield (), f"the check is empty; specify one of {', '.join(CHECK_KINDS)}"
        for kind in given[1:]:
            yield (kind,), f"cannot be combined with `{given[0]}`; move it to a check of its own"
        for kind in lists:
            names = [name.lower() for name in getattr(self, kind)]
            for name in sorted({name for name in names if names.count(name) > 1}):
                yield (kind,), f"duplicate column {name!r}"

    def _combination_problems(self) -> Iterator[KeyProblem]:
        wanted = [key for key in ("equals", "not_equals") if getattr(self, key) is not None]
        if self.kind == "sql" and len(wanted) != 1:
            yield ("sql",), "requires either `equals` or `not_equals`"
        if self.kind != "sql":
            for key in wanted:
                yield (key,), f"not applicable with `{self.kind}`; only with `sql`"
        if self.is_routing and self.kind not in ROW_KINDS:
            yield (
                ("on_failure",),
                f"'quarantine' cannot be combined with `{self.kind}`, which does not identify single rows. "
                "Allowed: fail, warn",
            )
