"""Applies a table's checks to the rows of a batch."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from headwater.config.processing.checks import ROW_KINDS, CheckConfig
from headwater.config.processing.transform import INPUT_VIEW
from headwater.errors import CheckFailedError, ConfigError, TransformError
from headwater.lake.checks.violations import build_violation, describe_violation, find_checked
from headwater.lake.transforms.columns import quote
from headwater.lake.transforms.sql.statement import run_select

_MAX_EXAMPLE_CHARS = 300


@dataclass(frozen=True, slots=True)
class CheckFailure:
    """A failed check: `label` names it, `text` holds the figures, `example` is a row as JSON."""

    check: CheckConfig
    label: str
    text: str
    example: str | None = None

    def describe(self) -> str:
        """Return the failure as one line."""
        shown = f"; for example {self.example}" if self.example else ""
        return f"{self.label}: {self.text}{shown}"


class Checks:
    """Checks frames that have the table's columns."""

    def __init__(self, table: str, checks: Sequence[CheckConfig]) -> None:
        self._table = table
        numbered = [(check.label(number), check) for number, check in enumerate(checks, 1)]
        self._routing = [entry for entry in numbered if entry[1].is_routing]
        self._judging = [entry for entry in numbered if not entry[1].is_routing]

    @property
    def routes(self) -> bool:
        """True if rows may be sent to quarantine."""
        return bool(self._routing)

    @property
    def judges(self) -> bool:
        """True if a check may stop a batch or log a warning."""
        return bool(self._judging)

    def build_failure_column(self, frame: DataFrame) -> Column:
        """Return a column with the failed check and the reason for rows to quarantine, else null."""
        found = F.lit(None).cast("string")
        for label, check in self._routing:
            with self._naming(label):
                violation = build_violation(frame, check)
            text = f"does not pass {label}: {describe_violation(check)}"
            found = F.coalesce(found, F.when(violation, F.lit(text)))
        return found

    def judge(self, frame: DataFrame, shown: Sequence[str]) -> list[CheckFailure]:
        """Return the failed checks; `shown` are the columns of example rows. Starts Spark jobs.

        Raises `ConfigError` for a check that refers to missing columns.
        """
        count, violations = self._count(frame)
        failures: list[CheckFailure] = []
        for label, check in self._judging:
            with self._naming(label):
                text, example = _judge(frame, check, count, violations.get(label, 0), shown)
            if text:
                failures.append(CheckFailure(check, label, text, example))
        return failures

    def _count(self, frame: DataFrame) -> tuple[int, dict[str, int]]:
        """Count all rows, and failed rows for each row-level check, in one pass."""
        counts = [F.count(F.lit(1))]
        labels = []
        for label, check in self._judging:
            if check.kind in ROW_KINDS:
                with self._naming(label):
                    counts.append(F.count(F.when(build_violation(frame, check), 1)))
                labels.append(label)
        found: Row = frame.agg(*(count.alias(f"c{at}") for at, count in enumerate(counts))).collect()[0]
        return found[0], dict(zip(labels, found[1:], strict=True))

    @contextmanager
    def _naming(self, label: str) -> Iterator[None]:
        try:
            yield
        except (ConfigError, TransformError) as error:
            raise ConfigError(f"table {self._table}: {label}: {error.message}", hint=error.hint) from error


def raise_failed(table: str, failures: Sequence[CheckFailure]) -> None:
    """Raise `CheckFailedError` if any of the failures must stop the table."""
    fatal = [failure for failure in failures if failure.check.on_failure == "fail"]
    if fatal:
        said = "; ".join(failure.describe() for failure in fatal)
        raise CheckFailedError(
            f"table {table}: {said}",
            hint="the batch was not committed. Correct the objects or the check and run again, which "
            "resumes at this batch",
        )


def _judge(
    frame: DataFrame, check: CheckConfig, count: int, violations: int, shown: Sequence[str]
) -> tuple[str, str | None]:
    """Return a description of the failure, empty if the check passes, and an example row."""
    if check.kind == "row_count":
        return _judge_count(check, count), None
    if check.kind == "sql":
        return _judge_sql(frame, check), None
    if check.kind == "unique":
        return _judge_unique(frame, check, shown)
    if not violations:
        return "", None
    example = _find_example(frame.where(build_violation(frame, check)), shown)
    return f"{violations:,} of {count:,} rows: {describe_violation(check)}", example


def _judge_count(check: CheckConfig, count: int) -> str:
    wanted = check.row_count
    if wanted is None:
        return ""
    if wanted.min is not None and count < wanted.min:
        return f"the batch has {count:,} rows; expected at least {wanted.min:,}"
    if wanted.max is not None and count > wanted.max:
        return f"the batch has {count:,} rows; expected at most {wanted.max:,}"
    return ""


def _judge_sql(frame: DataFrame, check: CheckConfig) -> str:
    found = run_select({INPUT_VIEW: frame}, check.sql or "").limit(2).collect()
    if len(found) != 1 or len(found[0]) != 1:
        rows = "no row" if not found else "more than one value"
        return f"the statement returns {rows}; a check compares one value"
    value = found[0][0]
    if check.equals is not None and not is_equal(value, check.equals):
        return f"the value is {value!s}, not {check.equals!s}"
    if check.not_equals is not None and is_equal(value, check.not_equals):
        return f"the value is {value!s}"
    return ""


def _judge_unique(frame: DataFrame, check: CheckConfig, shown: Sequence[str]) -> tuple[str, str | None]:
    names = find_checked(frame, check)
    # As in SQL, null does not equal null.
    filled = frame.dropna(subset=names)
    doubles = filled.groupBy(*map(quote, names)).agg(F.count(F.lit(1)).alias("_times")).where("_times > 1")
    keys, rows = doubles.agg(F.count(F.lit(1)), F.sum("_times")).collect()[0]
    if not keys:
        return "", None
    chosen = doubles.limit(1).drop("_times")
    same = [quote(f"_{at}") == quote(name) for at, name in enumerate(names)]
    one = filled.join(chosen.toDF(*(f"_{at}" for at in range(len(names)))), on=same, how="left_semi")
    text = f"{keys:,} values of ({', '.join(names)}) occur more than once, in {rows:,} rows"
    return text, _find_example(one, shown)


def _find_example(rows: DataFrame, shown: Sequence[str]) -> str | None:
    found = rows.select(F.to_json(F.struct(*map(quote, shown)))).limit(1).collect()
    text = str(found[0][0]) if found else None
    return text if text is None or len(text) <= _MAX_EXAMPLE_CHARS else f"{text[:_MAX_EXAMPLE_CHARS]}..."


def is_equal(value: object, wanted: bool | float | str) -> bool:
    """True if a Spark value equals the configured value; numbers are compared numerically."""
    if isinstance(wanted, bool) or isinstance(value, bool):
        return value is wanted
    if isinstance(wanted, str) or value is None:
        return str(value) == wanted
    try:
        return Decimal(str(value)) == Decimal(str(wanted))
    except InvalidOperation:
        return False
