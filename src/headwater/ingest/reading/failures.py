"""Converts errors of Spark jobs that read objects to headwater's errors."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from headwater import errors
from headwater.errors import HeadwaterError, IngestError, LakeError
from headwater.lake.failures import explain_full_temporary, find_root_cause, is_no_space
from headwater.lake.jvm import list_temporary_folders
from headwater.lake.prerequisites.run_log import describe_run_log

# An error raised in an executor's Python arrives as text at the end of its traceback.
_OURS = re.compile(r"headwater\.errors\.(?P<name>\w+Error): (?P<message>[^\n]*)(?:\n\s*-> (?P<hint>[^\n]*))?")


@contextmanager
def explained_read(table: str) -> Iterator[None]:
    """Convert Spark errors raised while objects are read to headwater's errors; a write may read, too."""
    try:
        yield
    except (Py4JError, PySparkException) as error:
        raise explain_read_failure(table, str(error)) from error
    except LakeError as error:
        if found := find_executor_error(table, str(error.__cause__)):
            raise found from error
        raise


def explain_read_failure(table: str, text: str) -> HeadwaterError:
    """Return the error an executor raised, or an `IngestError` with the first informative line."""
    if is_no_space(text):
        return explain_full_temporary(f"table {table}", list_temporary_folders())
    return find_executor_error(table, text) or IngestError(
        f"table {table}: the batch could not be read: {find_root_cause(text)[:500]}",
        hint=f"the batch is retried; {describe_run_log()}",
    )


def find_executor_error(table: str, text: str) -> HeadwaterError | None:
    """Return the error of headwater that an executor raised, if any."""
    found = _OURS.search(text)
    kind = getattr(errors, found["name"], IngestError) if found else None
    if found is None or not (isinstance(kind, type) and issubclass(kind, HeadwaterError)):
        return None
    return kind(f"table {table}: {found['message'].strip()}", hint=(found["hint"] or "").strip())
