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
    """How many rows a batch may bring."""

    min: int | None = Field(None, ge=0, description="At least.")
    max: int | None = Field(None, ge=0, description="At most.")

    @model_validator(mode="after")
    def _check_bounds(self) -> "RowCountConfig":
        if self.min is None and self.max is None:
            raise SectionError([((), "neither `min` nor `max`: it could not fail")])
        if self.min is not None and self.max is not None and self.min > self.max:
            raise SectionError([(("max",), f"{self.max} is less than `min: {self.min}`: nothing would do")])
        return self


class RangeConfig(Section):
    """What values a column may have; null is none of them and always good."""

    column: str = Field(min_length=1, description="The column.")
    min: Bound | None = Field(None, description="Lowest value: a number, or text such as a date.")
    max: Bound | None = Field(None, description="Highest value.")

    @model_validator(mode="after")
    def _check_bounds(self) -> "RangeConfig":
        if self.min is None and self.max is None:
            raise SectionError([((), "neither `min` nor `max`: it could not fail")])
        both = (self.min, self.max)
        if isinstance(self.min, str) != isinstance(self.max, str) and None not in both:
            raise SectionError([(("max",), "one bound is text and the other a number")])
        numbers = [bound for bound in both if isinstance(bound, (int, float))]
        if len(numbers) == 2 and numbers[0] > numbers[1]:
            raise SectionError([(("max",), f"{self.max} is less than `min: {self.min}`: nothing would do")])
        return self


class CheckConfig(Section):
    """One check of a table's batches: exactly one of these kinds."""

    name: str | None = Field(None, min_length=1, description="What messages call it. Default: its place.")
    row_count: RowCountConfig | None = Field(None, description="How many rows the batch has.")
    sql: str | None = Field(
        None,
        min_length=1,
        description="One SELECT in Spark's SQL with one value; the batch's rows are the view `input`.",
    )
    equals: Scalar | None = Field(None, description="What the value of `sql` has to be.")
    not_equals: Scalar | None = Field(None, description="What it must not be.")
    unique: FieldNames = Field((), description="No two rows of the batch have the same values in these.")
    not_null: FieldNames = Field((), description="None of these columns is null.")
    range: RangeConfig | None = Field(None, description="Values of a column lie within bounds.")
    on_failure: OnFailure = Field(
        "fail",
        description="The table stops and stays as it was; or the batch is committed with a warning; or the "
        "failing rows go to quarantine and the others are committed (not_null, range).",
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
            yield (kind,), "nothing in it; at least one column is needed"
        if not given and not empty:
            yield (), f"it checks nothing: give one of {', '.join(CHECK_KINDS)}"
        for kind in given[1:]:
            yield (kind,), f"cannot be beside `{given[0]}`: make it a check of its own"
        for kind in lists:
            names = [name.lower() for name in getattr(self, kind)]
            for name in sorted({name for name in names if names.count(name) > 1}):
                yield (kind,), f"{name!r} is there twice"

    def _combination_problems(self) -> Iterator[KeyProblem]:
        wanted = [key for key in ("equals", "not_equals") if getattr(self, key) is not None]
        if self.kind == "sql" and len(wanted) != 1:
            yield ("sql",), "needs one of `equals` and `not_equals`: what its value is compared with"
        if self.kind != "sql":
            for key in wanted:
                yield (key,), f"has no meaning beside `{self.kind}`; it belongs to `sql`"
        if self.is_routing and self.kind not in ROW_KINDS:
            yield (
                ("on_failure",),
                f"'quarantine' cannot be with `{self.kind}`, which does not tell which row is wrong. "
                "Allowed: fail, warn",
            )
