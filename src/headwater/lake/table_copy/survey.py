"""Reads the state of a table that a copy takes: completed actions, and the files that they wrote."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headwater.errors import LakeError
from headwater.lake.damage import CorruptFile, compare_files
from headwater.lake.damage.promises import Promises
from headwater.lake.inspection.timeline import TableTimeline
from headwater.lake.layout import TableAddress
from headwater.lake.options import TABLE_METADATA_FOLDER, TABLE_PROPERTIES_FILE
from headwater.lake.properties import TableProperties
from headwater.lake.table_copy.cleans import Clean, build_clean, list_new_cleans
from headwater.lake.table_copy.parts import (
    SKIPPED_FOLDERS,
    cut_timeline,
    drop_metadata_table,
    find_oldest_write,
    is_part,
    list_timeline_files,
    select_data_files,
    split_table_files,
)
from headwater.lake.table_files import StoredFile
from headwater.lake.timeline.instants import Commit, Instant

_ATTEMPTS = 20


@dataclass(frozen=True, slots=True)
class TableSurvey:
    """The state of a table after its `instants`, completed actions in order of completion.

    `oldest` is the requested time of the oldest write on the active timeline. `files` are written once;
    `contents` are files that are rewritten in place, as they were. All paths are relative to the table.
    `cleans` are those that may have deleted files of the state before they were listed.
    """

    address: TableAddress
    instants: tuple[Instant, ...]
    oldest: str
    files: tuple[StoredFile, ...]
    contents: Mapping[str, bytes]
    properties: TableProperties
    cleans: tuple[Clean, ...] = ()

    @property
    def newest(self) -> Commit | None:
        """The commit that completed last; None for a table without one."""
        return next((i.commit for i in reversed(self.instants) if i.is_commit), None)

    @property
    def newest_requested(self) -> str:
        """The latest requested time of a commit: the state as of then has all commits."""
        return max((i.requested for i in self.instants if i.is_commit), default="")


def survey_table(address: TableAddress) -> TableSurvey:
    """Read the current state. Reads no rows.

    Raises `TableNotFoundError`, `TableUnsupportedError` for a table version below 8 and for rows outside of
    the table, and `LakeError`.
    """
    for _ in range(_ATTEMPTS):
        found = _try_survey(address)
        if found is not None:
            return found
    raise LakeError(
        f"table {address.name}: its timeline is archived faster than it can be listed",
        hint="repeat the command when the table is written less often",
    )


def _try_survey(address: TableAddress) -> TableSurvey | None:
    """Return None if the archive changed in the meantime: an action might be in neither of its two places."""
    before = TableTimeline(address)
    archive = before.list_archive_files()
    version = _read_version(before, archive)
    first = before.active
    timeline = TableTimeline(address)
    timeline.folder.reader.check_own_rows()
    instants = cut_timeline(first, timeline.active)
    folder = timeline.folder
    oldest = find_oldest_write(timeline.active)
    files = select_data_files(folder.list_data_files(), {i.requested for i in instants}, oldest)
    skipped = SKIPPED_FOLDERS | {timeline.folder.properties.read("timeline_path", "timeline")}
    fixed, changing = split_table_files(folder.list_except(TABLE_METADATA_FOLDER, skipped))
    later = TableTimeline(address)
    if _read_version(later, later.list_archive_files()) != version:
        return None
    contents = {file.path: content for file in changing if (content := folder.read_if_there(file.path))}
    return TableSurvey(
        address=address,
        instants=instants,
        oldest=oldest,
        files=(*files, *fixed, *list_timeline_files(instants), *archive[1:]),
        contents={
            **contents,
            **version,
            TABLE_PROPERTIES_FILE: drop_metadata_table(folder.properties_content),
        },
        properties=folder.properties,
        cleans=tuple(_read_cleans(later, instants, oldest)),
    )


def _read_version(timeline: TableTimeline, archive: Sequence[StoredFile]) -> dict[str, bytes]:
    return {file.path: timeline.folder.read(file.path) for file in archive[:1]}


def read_new_cleans(survey: TableSurvey) -> list[Clean]:
    """Read the cleans that were requested since the survey, or were pending then. Raises `LakeError`."""
    return _read_cleans(TableTimeline(survey.address), survey.instants, survey.oldest)


def _read_cleans(timeline: TableTimeline, known: Sequence[Instant], oldest: str) -> list[Clean]:
    completed = frozenset(i.requested for i in known)
    found = []
    for instant, plan in timeline.read_plans(list_new_cleans(timeline.active, known)).items():
        if isinstance(plan, LakeError):
            raise plan
        found.append(build_clean(instant, plan, lambda name: is_part(name, completed, oldest)))
    return found


def find_corruption(survey: TableSurvey) -> tuple[CorruptFile, ...]:
    """Return files that commits of the state recorded, and that it lacks or has in another size.

    Raises `LakeError` for an unreadable commit.
    """
    promises, timeline = Promises(), TableTimeline(survey.address)
    commits = [i for i in survey.instants if i.is_commit]
    for instant, metadata in timeline.read_metadata(commits).items():
        if isinstance(metadata, LakeError):
            raise metadata
        promises.add(instant, metadata)
    return compare_files(promises.files, {file.path: file.size for file in survey.files})
