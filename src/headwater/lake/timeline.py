"""A table's timeline: which commits completed when, and what they carry. The only user of the JVM gateway."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from headwater.errors import LakeError
from headwater.lake.options import COMMIT_METADATA_PREFIX, TABLE_METADATA_FOLDER, TABLE_PROPERTIES_FILE

_REFUSALS = (
    "Permission denied",
    "AccessDenied",
    "Read-only file system",
    "Mkdirs failed",
    "ParentNotDirectoryException",
)
_INSTANTS = (".requested", ".inflight", "commit")
_WRITES = frozenset({"commit", "deltacommit", "replacecommit"})


@dataclass(frozen=True, slots=True, order=True)
class Commit:
    """A completed write. Both instants are Hudi's `yyyyMMddHHmmssSSS` text; ordered by completion."""

    completed: str
    requested: str
    action: str


class Timeline:
    """One look at a table's timeline: it does not change after it was loaded."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._jvm: Any = spark.sparkContext._jvm
        self._hadoop_conf: Any = spark.sparkContext._jsc.hadoopConfiguration()
        self._path = path

    def exists(self) -> bool:
        """Whether a Hudi table lies at the path; one whose creation was cut short does not."""
        file, backup = self._at(TABLE_PROPERTIES_FILE), self._at(f"{TABLE_PROPERTIES_FILE}.backup")
        with explained_lake(self._path):
            system = file.getFileSystem(self._hadoop_conf)
            if system.exists(file) and system.getFileStatus(file).getLen() > 0:
                return True
            # While Hudi changes the properties there is only their copy.
            return bool(system.exists(backup))

    def clear_unfinished_creation(self) -> bool:
        """Remove what a process left that died while it created the table; True when there was any.

        Hudi takes the folder for a table that it then cannot load, for ever. Nothing is removed once
        a write has begun.
        """
        folder = self._at(TABLE_METADATA_FOLDER)
        with explained_lake(self._path):
            system = folder.getFileSystem(self._hadoop_conf)
            if self.exists() or not system.exists(folder):
                return False
            files = system.listFiles(folder, True)
            while files.hasNext():
                if files.next().getPath().getName().endswith(_INSTANTS):
                    return False
            return bool(system.delete(folder, True))

    def _at(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(f"{self._path}/{name}")

    @cached_property
    def _meta_client(self) -> Any:
        storage = self._jvm.org.apache.hudi.hadoop.fs.HadoopFSUtils.getStorageConf(self._hadoop_conf)
        builder = self._jvm.org.apache.hudi.common.table.HoodieTableMetaClient.builder()
        try:
            return builder.setConf(storage).setBasePath(self._path).build()
        except Py4JJavaError as error:
            raise explain_lake_failure(self._path, error) from error

    @cached_property
    def _active(self) -> Any:
        return self._meta_client.getActiveTimeline().getWriteTimeline().filterCompletedInstants()

    @cached_property
    def commits(self) -> tuple[Commit, ...]:
        """Completed writes of the active timeline, in order of completion."""
        return tuple(sorted(_to_commit(instant) for instant in self._active.getInstants()))

    def list_archived(self) -> tuple[Commit, ...]:
        """Completed writes that have left the active timeline. Reads the whole archive."""
        # Not getWriteTimeline(): for an archived timeline Hudi 1.2 answers it with nothing.
        archived = self._meta_client.getArchivedTimeline().getInstants()
        found = (_to_commit(instant) for instant in archived if instant.getAction() in _WRITES)
        return tuple(sorted(commit for commit in found if commit.completed))

    def read_metadata(self, commit: Commit) -> Mapping[str, str]:
        """Our own keys of one commit's metadata, without the prefix. Only for active commits."""
        for instant in self._active.getInstants():
            if instant.requestedTime() == commit.requested:
                return _read_own(self._active, instant)
        raise LakeError(f"{self._path}: commit {commit.requested} is not on the active timeline")

    def find_metadata(self, key: str) -> Mapping[str, str] | None:
        """Our keys of the newest commit that carries `key`: other writers' commits do not hide it.

        Reads the archive only when no active commit has it, as after many commits of table services.
        """
        for commit in reversed(self.commits):
            metadata = self.read_metadata(commit)
            if key in metadata:
                return metadata
        return self._find_archived_metadata(key)

    def _find_archived_metadata(self, key: str) -> Mapping[str, str] | None:
        archived = self.list_archived()
        if not archived:
            return None
        timeline = self._meta_client.getArchivedTimeline()
        timeline.loadCompletedInstantDetailsInMemory()
        details = {instant.requestedTime(): instant for instant in timeline.getInstants()}
        for commit in reversed(archived):
            metadata = _read_own(timeline, details[commit.requested])
            if key in metadata:
                return metadata
        return None


def delete_folder(spark: SparkSession, path: str) -> None:
    """Delete a folder with all that is in it, on any file system; none is fine. Raises `LakeError`."""
    jvm: Any = spark.sparkContext._jvm
    folder = jvm.org.apache.hadoop.fs.Path(path)
    try:
        folder.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration()).delete(folder, True)
    except Py4JJavaError as error:
        raise explain_lake_failure(path, error) from error


def _read_own(timeline: Any, instant: Any) -> Mapping[str, str]:
    extra = timeline.readCommitMetadata(instant).getExtraMetadata()
    return {
        key.removeprefix(COMMIT_METADATA_PREFIX): extra[key]
        for key in extra
        if key.startswith(COMMIT_METADATA_PREFIX)
    }


def _to_commit(instant: Any) -> Commit:
    return Commit(
        completed=instant.getCompletionTime(), requested=instant.requestedTime(), action=instant.getAction()
    )


@contextmanager
def explained_lake(path: str) -> Iterator[None]:
    """Raise `LakeError` for whatever Spark, Hudi or Hadoop throw while a table is used."""
    try:
        yield
    except (Py4JError, PySparkException) as error:
        raise explain_lake_failure(path, error) from error


def explain_lake_failure(path: str, error: Exception) -> LakeError:
    """Turn what Hudi or Hadoop threw into one sentence with a fix."""
    from headwater.errors import LakeNotWritableError

    text = str(error)
    if any(sign in text for sign in _REFUSALS):
        return LakeNotWritableError(
            f"the lake is not writable: {path}", hint="check the rights of this user or role on that location"
        )
    if "No space left on device" in text:
        return LakeNotWritableError(f"no space left under {path}", hint="free space or move the lake")
    if "No FileSystem for scheme" in text or ("ClassNotFoundException" in text and "fs." in text):
        return LakeError(
            f"Spark has no file system for {path}", hint="add its connector with spark.packages in the config"
        )
    first_line = next(
        (line for line in text.splitlines() if "Exception" in line or "Error" in line), text[:300]
    )
    return LakeError(f"{path}: {first_line.strip()[:500]}", hint="the JVM's log has the whole story")
