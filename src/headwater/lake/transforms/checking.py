"""Validates transforms and checks before Spark starts: files, functions, statements, names and the salt."""

from collections.abc import Iterator, Mapping

from headwater.config.processing.transform import SALT_VARIABLE
from headwater.config.settings import Settings
from headwater.config.table import TableConfig
from headwater.errors import ConfigError, HeadwaterError
from headwater.lake.transforms.protocol import TransformSecrets
from headwater.lake.transforms.python_function import load_function

SOURCE = "_headwater_source"
"""The column that identifies a row's source record within a chain; it is not stored in the table."""


def read_secrets(environ: Mapping[str, str]) -> TransformSecrets:
    """Read the secrets of transforms from the environment."""
    return TransformSecrets(environ.get(SALT_VARIABLE) or None)


def check_processing(settings: Settings, environ: Mapping[str, str], only: str | None = None) -> None:
    """Raise `ConfigError` with all problems of the tables' `transform` and `checks`; starts no Spark.

    `only` selects one table. Imports the modules of `python` transforms.
    """
    secrets = read_secrets(environ)
    problems = [
        f"tables.{name}.{path}: {text}"
        for name, table in settings.tables.items()
        if (table.transform or table.checks or table.columns) and only in (None, name)
        for path, text in _iter_problems(table, secrets)
    ]
    if problems:
        raise ConfigError("\n".join(problems), hint="correct them and run `headwater config check`")


def _iter_problems(table: TableConfig, secrets: TransformSecrets) -> Iterator[tuple[str, str]]:
    from headwater.lake.transforms.known_columns import iter_column_problems, iter_sql_problems

    yield from iter_sql_problems(table, SOURCE)
    for at, step in enumerate(table.transform):
        if step.kind == "hash" and secrets.salt is None:
            yield (
                f"transform[{at}].hash",
                f"needs a salt: set the environment variable {SALT_VARIABLE} to a long random text, and "
                "never change it",
            )
        if step.python is not None:
            try:
                load_function(step.python, step.folder)
            except HeadwaterError as error:
                yield f"transform[{at}].python", f"{error.message}; {error.hint}"
    yield from iter_column_problems(table)
