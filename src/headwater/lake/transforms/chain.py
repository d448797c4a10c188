"""The transforms of one table, applied in order."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce

from pyspark.sql import DataFrame

from headwater.config.processing.transform import STORABLE_NAME, TransformStep
from headwater.errors import ConfigError, TransformError
from headwater.lake.transforms.kinds import build_transform
from headwater.lake.transforms.protocol import TransformSecrets
from headwater.lake.transforms.sql.statement import Sql

_PLURAL_KINDS = frozenset({"sql", "sql_file", "python", "java"})


class Chain:
    """Applies transforms to frames. Errors name `table`. Construction raises `ConfigError`."""

    def __init__(self, table: str, steps: Sequence[TransformStep], secrets: TransformSecrets) -> None:
        self._table = table
        self._labels = [step.label(number) for number, step in enumerate(steps, 1)]
        self._steps = steps
        self._transforms = []
        for label, step in zip(self._labels, steps, strict=True):
            with self._naming(label):
                self._transforms.append(build_transform(step, secrets))

    @property
    def labels(self) -> tuple[str, ...]:
        """The transforms' names in messages, in order."""
        return tuple(self._labels)

    @property
    def may_multiply(self) -> bool:
        """True if one row may become several."""
        return any(
            step.kind in _PLURAL_KINDS or (step.flatten is not None and bool(step.flatten.explode))
            for step in self._steps
        )

    def apply(self, frame: DataFrame, carried: str | None) -> DataFrame:
        """Apply all transforms lazily; without `carried`, they may aggregate.

        Raises `TransformError`, which names table and transform.
        """
        return reduce(lambda _, found: found[1], self.iter_apply(frame, carried), frame)

    def join(self, frames: Mapping[str, DataFrame]) -> DataFrame:
        """Apply the first transform, which is SQL, to frames by name, and the others to its result, lazily.

        Raises the errors of `apply`.
        """
        first = self._transforms[0]
        assert isinstance(first, Sql)  # noqa: S101 - checked by TableConfig
        with self._naming(self._labels[0]):
            frame = first.join(frames)
            _check_result(frame, None)
        return reduce(lambda _, found: found[1], self._iter_apply(1, frame, None), frame)

    def iter_apply(self, frame: DataFrame, carried: str | None) -> Iterator[tuple[str, DataFrame]]:
        """Yield label and frame after each transform. Raises the errors of `apply`."""
        yield from self._iter_apply(0, frame, carried)

    def _iter_apply(
        self, start: int, frame: DataFrame, carried: str | None
    ) -> Iterator[tuple[str, DataFrame]]:
        for label, transform in zip(self._labels[start:], self._transforms[start:], strict=True):
            with self._naming(label):
                frame = transform.apply(frame, carried)
                _check_result(frame, carried)
            yield label, frame

    @contextmanager
    def _naming(self, label: str) -> Iterator[None]:
        try:
            yield
        except (ConfigError, TransformError) as error:
            kind = ConfigError if isinstance(error, ConfigError) else TransformError
            raise kind(f"table {self._table}: {label}: {error.message}", hint=error.hint) from error


def _check_result(frame: DataFrame, carried: str | None) -> None:
    if carried is not None and carried not in frame.columns:
        raise TransformError(
            f"the result lacks the column {carried}, which identifies the record that a row comes from",
            hint=f"keep it, as `select {carried}, ...` and `select *` do; rows cannot be aggregated",
        )
    lowered = [name.lower() for name in frame.columns]
    doubles = sorted({name for name in lowered if lowered.count(name) > 1})
    if doubles:
        raise TransformError(
            f"several columns are named {', '.join(map(repr, doubles))}", hint="rename all but one of them"
        )


def check_storable(table: str, frame: DataFrame, ignored: Sequence[str]) -> None:
    """Raise `TransformError` if the table cannot store the columns by name, or if there are none."""
    fields = [field for field in frame.schema if field.name not in ignored]
    odd = [field.name for field in fields if not STORABLE_NAME.fullmatch(field.name)]
    if odd:
        raise TransformError(
            f"table {table}: the transform produces columns named {', '.join(map(repr, odd))}; column names "
            "consist of letters, digits and `_`",
            hint="name them: `upper(name) as name` in SQL, or a `rename` transform",
        )
    if not fields:
        raise TransformError(f"table {table}: the transform leaves no column", hint="keep at least one")
