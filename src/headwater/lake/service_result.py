"""What table services would do, and what they did."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ServiceResult:
    """`instants` are those of the service, in the order they were done; none when there was nothing to do.
    `files` and `bytes` were written by it, `rows` are in them; `seconds` is the wall time of all."""

    instants: tuple[str, ...]
    files: int
    rows: int
    bytes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Candidates:
    """What a service would find: `files` of `file_groups` in `partitions`, `bytes` in all. `pending` are
    plans that wait to be done already, as after a service that was killed."""

    partitions: int
    file_groups: int
    files: int
    bytes: int
    pending: tuple[str, ...] = ()


def sum_results(results: Sequence[ServiceResult]) -> ServiceResult:
    """All of them as one."""
    return ServiceResult(
        instants=tuple(instant for result in results for instant in result.instants),
        files=sum(result.files for result in results),
        rows=sum(result.rows for result in results),
        bytes=sum(result.bytes for result in results),
        seconds=sum(result.seconds for result in results),
    )
