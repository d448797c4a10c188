"""The session's JVM: what Hudi has and PySpark has no name for. The only user of the gateway.

Each step through the gateway is a round trip that waits its turn among the threads of this process, and
each dotted name is as many of them as it has dots: names are looked up once, values cross as one text.
"""

import json
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import DataFrame, SparkSession

from headwater.errors import LakeError
from headwater.lake.failures import explain_lake_failure

_MERGER = "org.apache.hudi.common.model.HoodieRecordMerger"
_SCHEME = re.compile(r"^\w+:(?=/)")
_END_SECONDS = 600.0
"""A JVM that writes an archive of its classes does that at its end."""
_LISTED_FILE = re.compile(r"StoragePathInfo\{path=(.*?), length=(\d+),")


@dataclass(frozen=True, slots=True)
class IndexCall:
    """An index as Hudi writes it down: `partition` is its folder in the metadata table, `kind` is
    `secondary_index`, or what is kept of an expression."""

    partition: str
    kind: str
    function: str
    columns: tuple[str, ...]
    options: Mapping[str, str]


class Jvm:
    """The classes used, and conversions; one for each session, see `connect`."""

    def __init__(self, context: SparkContext) -> None:
        self._root: Any = context._jvm
        self._java_context: Any = context._jsc
        self.hadoop_conf: Any = context._jsc.hadoopConfiguration()
        self._storage_conf = self._find("org.apache.hudi.hadoop.fs.HadoopFSUtils.getStorageConf")(
            self.hadoop_conf
        )
        self._build_meta_client = self._find("org.apache.hudi.common.table.HoodieTableMetaClient.builder")
        self._path = self._find("org.apache.hadoop.fs.Path")
        self._mapper = self._find("com.fasterxml.jackson.databind.ObjectMapper")()
        self._map = self._find("java.lang.Class.forName")("java.util.HashMap")
        self._list = self._find("java.lang.Class.forName")("java.util.ArrayList")

    def _find(self, name: str) -> Any:
        """A class, or a static method of one."""
        return reduce(getattr, name.split("."), self._root)

    def load_class(self, name: str) -> Any:
        """The `java.lang.Class` of a name, from the session's jars too. Raises `Py4JJavaError`."""
        return self._find("java.lang.Thread.currentThread")().getContextClassLoader().loadClass(name)

    def call_transformer(self, name: str, session: Any, rows: Any) -> Any:
        """What `apply` of a new object of the class makes of the rows, as Hudi's `Transformer` has it."""
        properties = self._find("org.apache.hudi.common.config.TypedProperties")()
        return self.load_class(name).newInstance().apply(self._java_context, session, rows, properties)

    def build_path(self, path: str) -> Any:
        """Hadoop's `Path`."""
        return self._path(path)

    def build_meta_client(self, path: str) -> Any:
        """Hudi's view of the table at `path` as it is now."""
        return self._build_meta_client().setConf(self._storage_conf).setBasePath(path).build()

    def build_write_client(self, meta_client: Any, name: str, options: Mapping[str, str]) -> Any:
        """Hudi's own client for what is not a write of rows: services, savepoints, rollbacks.

        To be closed. The schema is the table's newest.
        """
        schema = self._find("org.apache.hudi.common.table.TableSchemaResolver")(meta_client).getTableSchema(
            False
        )
        config = (
            self._find("org.apache.hudi.config.HoodieWriteConfig.newBuilder")()
            .withPath(str(meta_client.getBasePath()))
            .withSchema(schema.toString())
            .forTable(name)
            .withProps(self.build_map(options))
            .build()
        )
        context = self._find("org.apache.hudi.client.common.HoodieSparkEngineContext")(self._java_context)
        return self._find("org.apache.hudi.client.SparkRDDWriteClient")(context, config)

    def build_clean_planner(self, client: Any) -> Any:
        """Hudi's own decision which files a clean removes; it writes nothing."""
        config, context = client.getConfig(), client.getEngineContext()
        table = self._find("org.apache.hudi.table.HoodieSparkTable.create")(config, context)
        return self._find("org.apache.hudi.table.action.clean.CleanPlanner")(context, table, config)

    def list_files(self, client: Any) -> tuple[dict[str, int], dict[str, int]]:
        """Bytes of a table's files by their path below it: as its metadata table has them, and as they lie
        there."""
        config, context = client.getConfig(), client.getEngineContext()
        table = self._find("org.apache.hudi.table.HoodieSparkTable.create")(config, context)
        meta_client = table.getMetaClient()
        listing = self._find("org.apache.hudi.metadata.FileSystemBackedTableMetadata")(
            context, meta_client.getTableConfig(), meta_client.getStorage(), config.getBasePath()
        )
        return (
            self._list_files(table.getTableMetadata(), config.getBasePath()),
            self._list_files(listing, config.getBasePath()),
        )

    def _list_files(self, metadata: Any, root: str) -> dict[str, int]:
        folders = [f"{root}/{path}".rstrip("/") for path in metadata.getAllPartitionPaths()]
        # One text: a round trip for each file would take as long as the listing.
        shown = metadata.getAllFilesInPartitions(self.build_list(folders)).toString()
        found = _LISTED_FILE.findall(shown)
        start = "/" + _SCHEME.sub("", root).strip("/")
        return {path.partition(start)[2].lstrip("/"): int(length) for path, length in found}

    def delete_metadata(self, client: Any, meta_client: Any) -> None:
        """Remove the metadata table and what the table's properties say of it; none is fine."""
        self._find("org.apache.hudi.metadata.HoodieTableMetadataUtil.deleteMetadataTable")(
            meta_client, client.getEngineContext(), False
        )

    def build_metadata(self, client: Any) -> None:
        """Make the metadata table, with all that the client's options and definitions ask for, as the
        next write would."""
        upsert = self._find("org.apache.hudi.common.model.WriteOperationType.UPSERT")
        client.initTable(upsert, self.build_none())

    def define_index(self, meta_client: Any, index: IndexCall) -> None:
        """Write a secondary or expression index down: who makes the metadata table builds it."""
        kinds = self._find("org.apache.hudi.metadata.MetadataPartitionType")
        version = self._find("org.apache.hudi.metadata.HoodieIndexVersion.getCurrentVersion")(
            meta_client.getTableConfig().getTableVersion(),
            kinds.SECONDARY_INDEX if index.kind == "secondary_index" else kinds.EXPRESSION_INDEX,
        )
        definition = (
            self._find("org.apache.hudi.common.model.HoodieIndexDefinition.newBuilder")()
            .withIndexName(index.partition)
            .withIndexType(index.kind)
            .withIndexFunction(index.function)
            .withSourceFields(self.build_list(list(index.columns)))
            .withIndexOptions(self.build_map(index.options))
            .withVersion(version)
            .build()
        )
        meta_client.buildIndexDefinition(definition)

    def list_index_kinds(self, partitions: Sequence[str]) -> Any:
        """Hudi's kinds of index for partitions of the metadata table, such as `column_stats`."""
        kinds = self._find("org.apache.hudi.metadata.MetadataPartitionType")
        found = self._find("java.util.ArrayList")()
        for partition in partitions:
            found.add(getattr(kinds, partition.upper()))
        return found

    @contextmanager
    def hold_lock(self, client: Any, meta_client: Any) -> Iterator[None]:
        """The table's lock, as the client's options say. It is this thread's."""
        manager = self._find("org.apache.hudi.client.transaction.TransactionManager")
        transaction = manager(client.getConfig(), meta_client.getStorage())
        transaction.beginStateChange(self.build_none(), self.build_none())
        try:
            yield
        finally:
            transaction.endStateChange(self.build_none())
            transaction.close()

    def delete_pending_indexing(self, meta_client: Any) -> None:
        """Take indexing that was begun and not ended off the timeline: Hudi stumbles over what it left."""
        timeline = meta_client.getActiveTimeline()
        for instant in timeline.filterPendingIndexTimeline().getInstants():
            timeline.deleteInstantFileIfExists(instant)

    def delete_index_definition(self, meta_client: Any, partition: str) -> None:
        """Take an index out of Hudi's file of definitions; none of that name is fine."""
        meta_client.deleteIndexDefinition(partition)

    def change_table_version(
        self, meta_client: Any, name: str, version: int, options: Mapping[str, str]
    ) -> None:
        """Take Hudi's own steps from the table's version to that one, up or down."""
        config = (
            self._find("org.apache.hudi.config.HoodieWriteConfig.newBuilder")()
            .withPath(str(meta_client.getBasePath()))
            .forTable(name)
            .withProps(self.build_map(options))
            .build()
        )
        context = self._find("org.apache.hudi.client.common.HoodieSparkEngineContext")(self._java_context)
        helper = self._find("org.apache.hudi.table.upgrade.SparkUpgradeDowngradeHelper.getInstance")()
        steps = self._find("org.apache.hudi.table.upgrade.UpgradeDowngrade")(
            meta_client, config, context, helper
        )
        versions = self._find("org.apache.hudi.common.table.HoodieTableVersion")
        # Hudi chooses the instant when there is none.
        steps.run(versions.fromVersionCode(version), None)

    def build_list(self, values: list[str]) -> Any:
        """A Java list of texts."""
        return self._mapper.readValue(json.dumps(values), self._list)

    def build_none(self) -> Any:
        """Hudi's `Option` without a value."""
        return self._find("org.apache.hudi.common.util.Option.empty")()

    def read_map(self, java_map: Any) -> dict[str, str]:
        """A Java map of texts."""
        found: dict[str, str] = json.loads(self._mapper.writeValueAsString(java_map))
        return found

    def build_map(self, values: Mapping[str, str]) -> Any:
        """A Java map of texts."""
        return self._mapper.readValue(json.dumps(values), self._map)


@lru_cache(maxsize=2)
def _connect(context: SparkContext) -> Jvm:
    return Jvm(context)


def connect(spark: SparkSession) -> Jvm:
    """The JVM of a session."""
    return _connect(spark.sparkContext)


def start_jvm(conf: SparkConf) -> None:
    """Start the JVM of the session to come in a process session of its own; does nothing if there is one.

    A SIGTERM to the process group (`timeout`, a shell's job control) then reaches Python only, which still
    needs the JVM for the commit in hand. When Python dies, the JVM reads the end of its input and exits.
    """
    if SparkContext._gateway is None:
        launch: Any = launch_gateway
        gateway = launch(conf, popen_kwargs={"start_new_session": True})
        SparkContext(conf=conf, gateway=gateway)


def end_session(spark: SparkSession) -> None:
    """Stop a session that this process started, and wait for its JVM: another one can be started then."""
    gateway: Any = spark.sparkContext._gateway
    spark.stop()
    gateway.shutdown()
    SparkContext._gateway = SparkContext._jvm = None
    # The JVM ends when its input does.
    gateway.proc.stdin.close()
    try:
        gateway.proc.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        gateway.proc.kill()


def read_session_settings(spark: SparkSession) -> dict[str, str]:
    """All `spark.*` settings that the session was started with."""
    return dict(spark.sparkContext.getConf().getAll())


def set_hadoop_settings(spark: SparkSession, values: Mapping[str, str]) -> None:
    """Change Hadoop's configuration of a running session."""
    configuration = connect(spark).hadoop_conf
    for name, value in values.items():
        configuration.set(name, value)


def save(frame: DataFrame, path: str, options: Mapping[str, str]) -> None:
    """Append to the Hudi table at `path`. Raises `LakeError`."""
    with explained_lake(path):
        writer: Any = frame.write.format("hudi").mode("append")
        # DataFrameWriter.options() makes a round trip for each of some forty.
        writer._jwrite.options(connect(frame.sparkSession).build_map(options))
        writer.save(path)


def transform_by_class(frame: DataFrame, name: str) -> DataFrame:
    """The rows after `apply(JavaSparkContext, SparkSession, Dataset<Row>, TypedProperties)` of a Java class.

    Raises what py4j and Spark raise.
    """
    spark: Any = frame.sparkSession
    found = connect(spark).call_transformer(name, spark._jsparkSession, frame._jdf)
    return DataFrame(found, spark)


def find_merge_strategy(spark: SparkSession, name: str) -> str:
    """What a record merger calls its way to merge: a UUID. Raises `LakeError` for a class that is none."""
    jvm = connect(spark)
    try:
        found = jvm.load_class(name)
        if jvm.load_class(_MERGER).isAssignableFrom(found):
            return str(found.newInstance().getMergingStrategy())
    except Py4JError as error:
        raise LakeError(
            f"`merger: {name}` cannot be loaded",
            hint="is the class in a jar of `spark.config: {spark.jars: FILE}`, public, with a constructor "
            "without arguments?",
        ) from error
    raise LakeError(f"`merger: {name}` is no record merger", hint=f"it has to implement {_MERGER}")


def qualify_path(spark: SparkSession, path: str) -> str:
    """The whole address of a path: `file:/...` for a folder of this machine. Raises `LakeError`."""
    jvm = connect(spark)
    with explained_lake(path):
        found = jvm.build_path(path)
        return str(found.getFileSystem(jvm.hadoop_conf).makeQualified(found).toString())


def delete_folder(spark: SparkSession, path: str) -> None:
    """Delete a folder with all that is in it, on any file system; none is fine. Raises `LakeError`."""
    jvm = connect(spark)
    with explained_lake(path):
        folder = jvm.build_path(path)
        folder.getFileSystem(jvm.hadoop_conf).delete(folder, True)


def measure_folder(spark: SparkSession, path: str) -> int:
    """Bytes of all files below a folder, on any file system. Raises `LakeError`."""
    jvm = connect(spark)
    with explained_lake(path):
        folder = jvm.build_path(path)
        return int(folder.getFileSystem(jvm.hadoop_conf).getContentSummary(folder).getLength())


def list_file_sizes(spark: SparkSession, folder: str) -> dict[str, int]:
    """Bytes of the files in a folder by their names, on any file system; none for an absent folder. Raises
    `LakeError`."""
    jvm = connect(spark)
    with explained_lake(folder):
        path = jvm.build_path(folder)
        system = path.getFileSystem(jvm.hadoop_conf)
        if not system.exists(path):
            return {}
        return {
            file.getPath().getName(): int(file.getLen()) for file in system.listStatus(path) if file.isFile()
        }


def read_file(spark: SparkSession, path: str) -> bytes:
    """A whole small file of any file system. Raises `LakeError`."""
    jvm = connect(spark)
    with explained_lake(path):
        file = jvm.build_path(path)
        stream = file.getFileSystem(jvm.hadoop_conf).open(file)
        try:
            return bytes(stream.readAllBytes())
        finally:
            stream.close()


@contextmanager
def explained_lake(path: str) -> Iterator[None]:
    """Raise `LakeError` for whatever Spark, Hudi or Hadoop throw while a table is used."""
    try:
        yield
    except (Py4JError, PySparkException) as error:
        raise explain_lake_failure(path, error, list_temporary_folders()) from error


def list_temporary_folders() -> tuple[str, ...]:
    """Where the session of this process puts aside what it has no memory for; none without a session."""
    context = SparkContext._active_spark_context
    if context is None or context._jvm is None:
        return ()
    try:
        found = context._jvm.org.apache.spark.SparkEnv.get().blockManager().diskBlockManager()
        return tuple(str(folder) for folder in found.localDirsString())
    # Of a session that has ended.
    except (Py4JError, OSError):
        return ()
