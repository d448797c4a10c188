"""A folder as a source: its files and changes as messages like those of a bucket."""

from headwater.sources.local.folder_watcher.watcher import FolderWatcher

__all__ = ["FolderWatcher"]
