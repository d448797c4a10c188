"""A folder as a source: what lies in it and what changes there, as messages like those of a bucket."""

from headwater.capture.folder_watcher.watcher import FolderWatcher

__all__ = ["FolderWatcher"]
