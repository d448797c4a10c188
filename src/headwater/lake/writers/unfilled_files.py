"""Removes files that a killed writer created on a timeline in Azure, and did not fill.

Hudi completes an action by creating a file with its metadata. Hadoop's driver for Azure creates it empty,
and its content becomes visible with a later request. After a kill in between, Hudi takes the action for
completed, and fails when it reads the file. Without the file, the action is incomplete, and the next write
rolls it back.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta, timezone

from headwater.config.azure_account import AZURE_SCHEMES
from headwater.lake.options import TABLE_METADATA_FOLDER
from headwater.lake.table_files import open_file_system
from headwater.lake.timeline.instants import is_unfilled

_TIMELINE = f"{TABLE_METADATA_FOLDER}/timeline"
_FOLDERS = (_TIMELINE, f"{TABLE_METADATA_FOLDER}/metadata/{_TIMELINE}")
"""The timelines of a table and of its metadata table."""
FILLED_WITHIN = timedelta(minutes=15)
"""Longer than the driver retries a request."""


def remove_unfilled(path: str, options: Mapping[str, str], *, may_be_shared: bool) -> list[str]:
    """Delete such files of a table at `path`, and return their names. Raises `OSError`.

    Call it with the lease of a writer. `may_be_shared`: other processes may be writing the table; recent
    files then stay.
    """
    from pyarrow.fs import FileSelector

    if not path.startswith(AZURE_SCHEMES):
        return []
    system, root = open_file_system(path, options)
    newest = datetime.now(timezone.utc) - (FILLED_WITHIN if may_be_shared else timedelta(0))
    removed = []
    for folder in _FOLDERS:
        for file in system.get_file_info(FileSelector(f"{root}/{folder}", allow_not_found=True)):
            if file.is_file and is_unfilled(file.base_name, file.size) and file.mtime <= newest:
                system.delete_file(file.path)
                removed.append(file.base_name)
    return removed
