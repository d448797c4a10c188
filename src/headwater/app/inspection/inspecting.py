"""`initialize`: inspects the source that is to be ingested, and writes the first headwater.yaml."""

from collections.abc import Mapping
from dataclasses import dataclass

from headwater.app.inspection.grouping import group_objects
from headwater.app.inspection.proposing import propose_tables
from headwater.app.inspection.sampling import (
    Limits,
    Sampler,
    explain_without_inspection,
    list_source,
)
from headwater.config.scaffold import (
    Scaffold,
    ScaffoldRequest,
    TableProposal,
    check_request,
    parse_source,
    resolve_address,
    write_scaffold,
)
from headwater.config.source import SourceConfig
from headwater.errors import HeadwaterError
from headwater.observability.clock import Clock, SystemClock

_SHOWN_KEYS = 3


@dataclass(frozen=True, slots=True)
class Inspection:
    """The proposed tables of a source; `notes` are sentences on what was not read."""

    tables: tuple[TableProposal, ...]
    notes: tuple[str, ...]


def initialize(
    request: ScaffoldRequest,
    environ: Mapping[str, str],
    *,
    limits: Limits | None = None,
    clock: Clock | None = None,
) -> Scaffold:
    """Write headwater.yaml with a table for each kind of files in the source.

    `environ` completes the source, as in a run: `HEADWATER__SOURCE__ENDPOINT`. Raises what `write_scaffold`
    raises, and `SourceError` if the bucket cannot be listed.
    """
    request = resolve_address(request)
    check_request(request)
    if not request.inspects:
        return write_scaffold(request)
    found = inspect_source(parse_source(request, environ), limits or Limits(), clock or SystemClock())
    return write_scaffold(request, found.tables, found.notes)


def inspect_source(source: SourceConfig, limits: Limits, clock: Clock) -> Inspection:
    """List a source, read samples, and propose tables. A missing folder has none.

    Raises `SourceError` if a bucket does not exist, does not answer, or denies access.
    """
    if source.type == "local" and not source.path.is_dir():
        return Inspection((), (f"the source folder {source.path} does not exist yet",))
    try:
        listing = list_source(source, limits, clock)
        grouping = group_objects(listing.objects)
        tables = propose_tables(grouping.groups, Sampler(source, limits, clock))
    except HeadwaterError as error:
        raise explain_without_inspection(error) from error
    notes = [f"{listing.limit}; tables of other objects are missing"] if listing.limit else []
    if not tables:
        notes.append(f"no data files in {source.address} yet")
    if grouping.ignored:
        shown = ", ".join(grouping.ignored[:_SHOWN_KEYS])
        rest = ", ..." if len(grouping.ignored) > _SHOWN_KEYS else ""
        count = len(grouping.ignored)
        notes.append(f"{count:,} file{'' if count == 1 else 's'} in no table: {shown}{rest}")
    return Inspection(tuple(tables), tuple(notes))
