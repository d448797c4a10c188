"""Planned and actual results of table services."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ServiceResult:
    """The result of a service; `instants` are its actions in order, empty if there was nothing to do.

    `files` and `bytes` count its output, `rows` the rows in it. `seconds` is the total wall-clock time.
    """

    instants: tuple[str, ...]
    files: int
    rows: int
    bytes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Candidates:
    """The input of a service: `files` of `file_groups` in `partitions`, with `bytes` in total.

    `pending` are existing plans, for example of a killed service.
    """

    partitions: int
    file_groups: int
    files: int
    bytes: int
    pending: tuple[str, ...] = ()


def sum_results(results: Sequence[ServiceResult]) -> ServiceResult:
    """Sum several results to one."""
    return ServiceResult(
        instants=tuple(instant for result in results for instant in result.instants),
        files=sum(result.files for result in results),
        rows=sum(result.rows for result in results),
        bytes=sum(result.bytes for result in results),
        seconds=sum(result.seconds for result in results),
    )
