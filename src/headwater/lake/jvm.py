"""The session's JVM: access to Hudi classes that PySpark does not expose. The only user of the Py4J gateway.

Each gateway call is a round trip that competes with other threads, and each dot in a name costs another one.
Names are therefore resolved once, and collections cross as one string.
"""

import json
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import Any, Literal, cast

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import DataFrame, DataFrameReader, SparkSession

from headwater.errors import LakeError
from headwater.lake.failures import explain_lake_failure

_MERGER = "org.apache.hudi.common.model.HoodieRecordMerger"
_SCHEME = re.compile(r"^\w+:(?=/)")
_END_SECONDS = 600.0
"""Long timeout: a JVM that archives its classes writes the archive at exit."""
_LISTED_FILE = re.compile(r"StoragePathInfo\{path=(.*?), length=(\d+),")


@dataclass(frozen=True, slots=True)
class IndexCall:
    """An index in Hudi's form; `partition` is its folder in the metadata table.

    `kind` is `secondary_index`, or the statistic that an expression index stores.
    """

    partition: str
    kind: str
    function: str
    columns: tuple[str, ...]
    options: Mapping[str, str]


class Jvm:
    """The Java classes in use, and conversions; one object per session, see `connect`."""

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
        """Resolve a class or a static method."""
        return reduce(getattr, name.split("."), self._root)

    def load_class(self, name: str) -> Any:
        """Load the `java.lang.Class` of a name, also from the session's jars. Raises `Py4JJavaError`."""
        return self._find("java.lang.Thread.currentThread")().getContextClassLoader().loadClass(name)

    def call_transformer(self, name: str, session: Any, rows: Any) -> Any:
        """Return the rows after `apply` of a new instance of the class, a Hudi `Transformer`."""
        properties = self._find("org.apache.hudi.common.config.TypedProperties")()
        return self.load_class(name).newInstance().apply(self._java_context, session, rows, properties)

    def build_text_encoder(self) -> Any:
        """Build the encoder of a Dataset of texts."""
        return self._find("org.apache.spark.sql.Encoders.STRING")()

    def build_path(self, path: str) -> Any:
        """Build a Hadoop `Path`."""
        return self._path(path)

    def build_meta_client(self, path: str) -> Any:
        """Build Hudi's meta client for the table at `path`, with its current state."""
        return self._build_meta_client().setConf(self._storage_conf).setBasePath(path).build()

    def build_write_client(self, meta_client: Any, name: str, options: Mapping[str, str]) -> Any:
        """Build Hudi's write client for table services, savepoints and rollbacks.

        The caller must close it. Uses the table's latest schema.
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
        """Build Hudi's planner of the files that a clean removes; it writes nothing."""
        config, context = client.getConfig(), client.getEngineContext()
        table = self._find("org.apache.hudi.table.HoodieSparkTable.create")(config, context)
        return self._find("org.apache.hudi.table.action.clean.CleanPlanner")(context, table, config)

    def clean_files(self, client: Any, is_wanted: Callable[[str], bool]) -> tuple[str, int]:
        """Run the client's clean, reduced to wanted paths; return its instant and the number of files.

        Without any such file there is no clean, and the instant is empty.
        """
        planner = self.build_clean_planner(client)
        info = self._find("org.apache.hudi.avro.model.HoodieCleanFileInfo")
        earliest, by_partition, count = planner.getEarliestCommitToRetain(), self.build_map({}), 0
        for partition in planner.getPartitionPathsToClean(earliest):
            chosen = self.build_list([])
            for file in planner.getDeletePaths(partition, earliest).getRight():
                if is_wanted(str(file.getFilePath())):
                    chosen.add(info(file.getFilePath(), file.isBootstrapBaseFile()))
            if not chosen.isEmpty():
                by_partition.put(partition, chosen)
                count += chosen.size()
        return (self._execute_clean(client, planner, by_partition), count) if count else ("", 0)

    def _execute_clean(self, client: Any, planner: Any, by_partition: Any) -> str:
        # Without an earliest instant, the next clean of the table considers all partitions again.
        build = self._find("org.apache.hudi.avro.model.HoodieCleanerPlan")
        version = self._find("org.apache.hudi.table.action.clean.CleanPlanner").LATEST_CLEAN_PLAN_VERSION
        policy, last = str(client.getConfig().getCleanerPolicy()), planner.getLastCompletedCommitTimestamp()
        nothing = self.build_map({})
        plan = build(None, last, policy, nothing, version, by_partition, self.build_list([]), nothing)
        config, context = client.getConfig(), client.getEngineContext()
        table = self._find("org.apache.hudi.table.HoodieSparkTable.create")(config, context)
        timeline = table.getActiveTimeline()
        instant = str(table.getMetaClient().createNewInstantTime(True))
        states = self._find("org.apache.hudi.common.table.timeline.HoodieInstant$State")
        requested = table.getInstantGenerator().createNewInstant(states.REQUESTED, "clean", instant)
        timeline.saveToCleanRequested(requested, self._find("org.apache.hudi.common.util.Option").of(plan))
        table.getMetaClient().reloadActiveTimeline()
        table.clean(context, instant)
        return instant

    def list_files(self, client: Any) -> tuple[dict[str, int], dict[str, int]]:
        """Return file sizes in bytes by relative path: from the metadata table, and from storage."""
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
        # Transfer one string: a round trip per file would take as long as the listing.
        shown = metadata.getAllFilesInPartitions(self.build_list(folders)).toString()
        found = _LISTED_FILE.findall(shown)
        start = "/" + _SCHEME.sub("", root).strip("/")
        return {path.partition(start)[2].lstrip("/"): int(length) for path, length in found}

    def delete_metadata(self, client: Any, meta_client: Any) -> None:
        """Remove the metadata table and its table properties. Idempotent."""
        self._find("org.apache.hudi.metadata.HoodieTableMetadataUtil.deleteMetadataTable")(
            meta_client, client.getEngineContext(), False
        )

    def build_metadata(self, client: Any) -> None:
        """Build the metadata table and its indexes by options and definitions, as the next write would."""
        upsert = self._find("org.apache.hudi.common.model.WriteOperationType.UPSERT")
        client.initTable(upsert, self.build_none())

    def update_properties(self, meta_client: Any, values: Mapping[str, str]) -> None:
        """Set properties of the table. Atomic: a backup of the file exists until then."""
        properties = self._find("java.util.Properties")()
        for key, value in values.items():
            properties.setProperty(key, value)
        self._find("org.apache.hudi.common.table.HoodieTableConfig.update")(
            meta_client.getStorage(), meta_client.getMetaPath(), properties
        )

    def define_index(self, meta_client: Any, index: IndexCall) -> None:
        """Write the definition of an index, which the next build of the metadata table builds."""
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

    def activate_session(self, session: Any) -> None:
        """Make a session the active one of the calling thread."""
        self._find("org.apache.spark.sql.SparkSession.setActiveSession")(session)

    def open_delta_log(self, session: Any, path: str) -> Any:
        """Return Delta's `DeltaLog` of the table at `path`, cached by Delta."""
        return self._find("org.apache.spark.sql.delta.DeltaLog.forTable")(session, path)

    def forget_delta_log(self, session: Any, path: str) -> None:
        """Remove the log of the table at `path` from Delta's cache."""
        self._find("org.apache.spark.sql.delta.DeltaLog.invalidateCache")(session, self._path(path))

    def build_absent(self) -> Any:
        """Build Scala's empty `Option`."""
        return self._find("scala.Option.empty")()

    def build_sequence(self, java_list: Any) -> Any:
        """Convert a Java list to a Scala `Seq`."""
        convert = self._find("scala.collection.JavaConverters.asScalaBufferConverter")
        return convert(java_list).asScala().toSeq()

    def build_catalog_table(self, name: str, path: str, schema: Any, options: Mapping[str, str]) -> Any:
        """Build Spark's `CatalogTable` of a Hudi table; `schema` is a Java `StructType`."""
        catalog = "org.apache.spark.sql.catalyst.catalog"
        table, some = self._find(f"{catalog}.CatalogTable"), self._find("scala.Option.apply")
        given = self._find("scala.collection.JavaConverters.mapAsScalaMapConverter")(self.build_map(options))
        to_map = self._find("scala.collection.immutable.Map$").__getattr__("MODULE$").apply
        absent, nothing = self.build_absent(), self.build_sequence(self.build_list([]))
        storage = self._find(f"{catalog}.CatalogStorageFormat")(
            some(self._path(path).toUri()), absent, absent, absent, False, to_map(nothing)
        )
        kind = self._find(f"{catalog}.CatalogTableType.EXTERNAL")()
        # Scala's default values: Java has to pass all arguments.
        default = {at: getattr(table, f"apply$default${at}")() for at in range(8, 21)}
        default[12] = to_map(given.asScala().toSeq())
        identifier = self.build_identifier(name)
        return table(
            identifier, kind, storage, schema, some("hudi"), nothing, absent, *map(default.get, range(8, 21))
        )

    def build_identifier(self, name: str) -> Any:
        """Build Spark's name of a table in the database `default`."""
        database = self._find("scala.Option.apply")("default")
        return self._find("org.apache.spark.sql.catalyst.TableIdentifier")(name, database)

    def build_rows(self, session: Any, plan: Any) -> Any:
        """Build the `Dataset` of a logical plan."""
        return self._find("org.apache.spark.sql.Dataset.ofRows")(session, plan)

    def list_index_kinds(self, partitions: Sequence[str]) -> Any:
        """Return Hudi's `MetadataPartitionType`s for partitions such as `column_stats`."""
        kinds = self._find("org.apache.hudi.metadata.MetadataPartitionType")
        found = self._find("java.util.ArrayList")()
        for partition in partitions:
            found.add(getattr(kinds, partition.upper()))
        return found

    @contextmanager
    def hold_lock(self, client: Any, meta_client: Any) -> Iterator[None]:
        """Hold the table's lock in this thread, with the client's lock options."""
        manager = self._find("org.apache.hudi.client.transaction.TransactionManager")
        transaction = manager(client.getConfig(), meta_client.getStorage())
        transaction.beginStateChange(self.build_none(), self.build_none())
        try:
            yield
        finally:
            transaction.endStateChange(self.build_none())
            transaction.close()

    def delete_pending_indexing(self, meta_client: Any) -> None:
        """Remove pending indexing actions from the timeline, because they break later Hudi operations."""
        timeline = meta_client.getActiveTimeline()
        for instant in timeline.filterPendingIndexTimeline().getInstants():
            timeline.deleteInstantFileIfExists(instant)

    def delete_index_definition(self, meta_client: Any, partition: str) -> None:
        """Remove an index from Hudi's file of definitions. Idempotent."""
        meta_client.deleteIndexDefinition(partition)

    def change_table_version(
        self, meta_client: Any, name: str, version: int, options: Mapping[str, str]
    ) -> None:
        """Run Hudi's own upgrade or downgrade from the table's version to `version`."""
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
        # Hudi chooses the instant itself if none is given.
        steps.run(versions.fromVersionCode(version), None)

    def build_list(self, values: list[str]) -> Any:
        """Build a Java list of strings."""
        return self._mapper.readValue(json.dumps(values), self._list)

    def build_none(self) -> Any:
        """Build Hudi's empty `Option`."""
        return self._find("org.apache.hudi.common.util.Option.empty")()

    def read_map(self, java_map: Any) -> dict[str, str]:
        """Convert a Java map of strings to a dict."""
        found: dict[str, str] = json.loads(self._mapper.writeValueAsString(java_map))
        return found

    def build_map(self, values: Mapping[str, str]) -> Any:
        """Convert a mapping to a Java map of strings."""
        return self._mapper.readValue(json.dumps(values), self._map)


@lru_cache(maxsize=2)
def _connect(context: SparkContext) -> Jvm:
    return Jvm(context)


def connect(spark: SparkSession) -> Jvm:
    """Return the JVM of a session."""
    return _connect(spark.sparkContext)


def start_jvm(conf: SparkConf) -> None:
    """Start the JVM of the coming session in its own process session, unless one is running.

    A SIGTERM to the process group (`timeout`, a shell's job control) then reaches only Python, which still
    needs the JVM to complete the current commit. When Python dies, the JVM reads the end of its input and
    exits.
    """
    if SparkContext._gateway is None:
        launch: Any = launch_gateway
        gateway = launch(conf, popen_kwargs={"start_new_session": True})
        SparkContext(conf=conf, gateway=gateway)


class _Resolved:
    """The members of a Java class, each looked up once; names and threads as in Py4J."""

    def __init__(self, java_class: Any) -> None:
        self._java_class = java_class

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._java_class, name)
        setattr(self, name, found)
        return found


def keep_functions(context: SparkContext) -> None:
    """Look up Spark's functions once in a session.

    PySpark asks the JVM for the class and for its member each time it builds an expression, and the JVM
    then searches its packages for the class: 0.6 ms instead of 0.1.
    """
    java: Any = context._jvm
    java.functions = _Resolved(java.functions)


def is_context_stopped(spark: SparkSession) -> bool:
    """True if the session can run no job any more, such as after its cluster has removed the application."""
    try:
        return bool(spark.sparkContext._jsc.sc().isStopped())
    # Without a context in this process, or with an unreachable JVM.
    except (AttributeError, Py4JError, OSError):
        return True


def end_session(spark: SparkSession) -> None:
    """Stop a session that this process started and wait for its JVM, so that another one can start."""
    gateway: Any = spark.sparkContext._gateway
    spark.stop()
    gateway.shutdown()
    SparkContext._gateway = SparkContext._jvm = None
    # The JVM exits at the end of its input.
    gateway.proc.stdin.close()
    try:
        gateway.proc.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        gateway.proc.kill()


def read_session_settings(spark: SparkSession) -> dict[str, str]:
    """Return all `spark.*` settings with which the session was started."""
    return dict(spark.sparkContext.getConf().getAll())


def set_hadoop_settings(spark: SparkSession, values: Mapping[str, str]) -> None:
    """Change the Hadoop configuration of a running session."""
    configuration = connect(spark).hadoop_conf
    for name, value in values.items():
        configuration.set(name, value)


def save(frame: DataFrame, path: str, options: Mapping[str, str]) -> None:
    """Append a frame to the Hudi table at `path`. Raises `LakeError`."""
    with explained_lake(path):
        writer: Any = frame.write.format("hudi").mode("append")
        # `DataFrameWriter.options()` makes one round trip for each of about forty options.
        writer._jwrite.options(connect(frame.sparkSession).build_map(options))
        writer.save(path)


def transform_by_class(frame: DataFrame, name: str) -> DataFrame:
    """Call `apply(JavaSparkContext, SparkSession, Dataset<Row>, TypedProperties)` of a Java class.

    Raises the errors of py4j and Spark.
    """
    spark: Any = frame.sparkSession
    found = connect(spark).call_transformer(name, spark._jsparkSession, frame._jdf)
    return DataFrame(found, spark)


def build_session_state(spark: SparkSession) -> Any:
    """Build the Java object of another session on the same context, with views and settings of its own."""
    own: Any = spark.newSession()
    return own._jsparkSession


def parse_plan(spark: SparkSession, text: str) -> Any:
    """Parse a statement of Spark SQL, with Hudi's additions, to a logical plan; executes nothing.

    Raises PySpark's `ParseException`.
    """
    session: Any = spark
    return session._jsparkSession.sessionState().sqlParser().parsePlan(text)


def is_plan_of_command(spark: SparkSession, plan: Any) -> bool:
    """True for the plan of a statement that is executed at once, not a query."""
    command = connect(spark).load_class("org.apache.spark.sql.catalyst.plans.logical.Command")
    return bool(command.isInstance(plan))


def build_frame(spark: SparkSession, plan: Any) -> DataFrame:
    """Build the rows of the plan of a query, lazily. Raises PySpark's `AnalysisException`."""
    session: Any = spark
    return DataFrame(connect(spark).build_rows(session._jsparkSession, plan), spark)


def put_catalog_table(rows: DataFrame, name: str, path: str, options: Mapping[str, str]) -> None:
    """Add or replace a Hudi table in the catalog of a session, with the columns of `rows` and options.

    Changes no file of the table.
    """
    spark: Any = rows.sparkSession
    java = connect(spark)
    catalog = spark._jsparkSession.sessionState().catalog()
    drop_catalog_table(spark, name)
    schema: Any = rows._jdf.schema()
    catalog.createTable(java.build_catalog_table(name, path, schema, options), False, False)
    # The session remembers the files of the previous one.
    catalog.refreshTable(java.build_identifier(name))


def drop_catalog_table(spark: SparkSession, name: str) -> None:
    """Remove a table from the catalog of a session; its files stay. Idempotent."""
    session: Any = spark
    catalog = session._jsparkSession.sessionState().catalog()
    catalog.dropTable(connect(spark).build_identifier(name), True, False)


def activate_session(spark: SparkSession) -> None:
    """Make the session the active one of this thread's JVM thread, which has none until then."""
    session: Any = spark
    connect(spark).activate_session(session._jsparkSession)


def open_delta_log(spark: SparkSession, path: str, *, is_replaced: bool = False) -> Any:
    """Return Delta's `DeltaLog` of the table at `path`; `is_replaced` ignores what Delta has cached of it.

    Raises the errors of py4j.
    """
    jvm, session = connect(spark), cast("Any", spark)._jsparkSession
    if is_replaced:
        jvm.forget_delta_log(session, path)
    return jvm.open_delta_log(session, path)


def read_delta_files(log: Any, snapshot: Any, files: DataFrame) -> DataFrame:
    """Return the rows of some of a snapshot's files, which `files` describes as Delta's log does, lazily.

    Deleted rows are omitted, as they are from the snapshot. Raises the errors of py4j and Spark.
    """
    spark, plan = files.sparkSession, cast("Any", files)._jdf
    jvm = connect(spark)
    # In Python, `as` is a keyword.
    listed = getattr(plan, "as")(snapshot.allFiles().encoder()).collectAsList()
    found = log.createDataFrame(snapshot, jvm.build_sequence(listed), False, jvm.build_absent())
    return DataFrame(found, spark)


def parse_texts(reader: DataFrameReader, file_format: Literal["csv", "json"], texts: DataFrame) -> DataFrame:
    """Return the records of a frame with one column of texts; the reader infers their types.

    PySpark's own readers take texts only as RDDs, each of which a Python worker serializes first: starting
    one takes a second. Raises the errors of py4j and Spark.
    """
    spark, plan = texts.sparkSession, cast("Any", texts)._jdf
    encoder = connect(spark).build_text_encoder()
    # In Python, `as` is a keyword.
    listed = getattr(plan, "as")(encoder)
    return DataFrame(getattr(cast("Any", reader)._jreader, file_format)(listed), spark)


def find_merge_strategy(spark: SparkSession, name: str) -> str:
    """Return the merge strategy ID (a UUID) of a record merger. Raises `LakeError` for any other class."""
    jvm = connect(spark)
    try:
        found = jvm.load_class(name)
        if jvm.load_class(_MERGER).isAssignableFrom(found):
            return str(found.newInstance().getMergingStrategy())
    except Py4JError as error:
        raise LakeError(
            f"`merger: {name}` cannot be loaded",
            hint="the class must be in a jar of `spark.config: {spark.jars: FILE}`, be public, and have a "
            "constructor without arguments",
        ) from error
    raise LakeError(f"`merger: {name}` is not a record merger", hint=f"it must implement {_MERGER}")


def qualify_path(spark: SparkSession, path: str) -> str:
    """Return the fully qualified URI of a path: `file:/...` for a local folder. Raises `LakeError`."""
    jvm = connect(spark)
    with explained_lake(path):
        found = jvm.build_path(path)
        return str(found.getFileSystem(jvm.hadoop_conf).makeQualified(found).toString())


def delete_folder(spark: SparkSession, path: str) -> bool:
    """Delete a folder recursively on any file system; return whether there was one. Raises `LakeError`."""
    jvm = connect(spark)
    with explained_lake(path):
        folder = jvm.build_path(path)
        return bool(folder.getFileSystem(jvm.hadoop_conf).delete(folder, True))


def measure_folder(spark: SparkSession, path: str) -> int:
    """Return the total size in bytes of all files in a folder, on any file system. Raises `LakeError`."""
    jvm = connect(spark)
    with explained_lake(path):
        folder = jvm.build_path(path)
        return int(folder.getFileSystem(jvm.hadoop_conf).getContentSummary(folder).getLength())


def estimate_bytes(frame: DataFrame, path: str) -> int:
    """Return the bytes of the files that a frame of the table at `path` would read, by Spark's estimate.

    Raises `LakeError`.
    """
    with explained_lake(path):
        plan: Any = frame._jdf
        return int(plan.queryExecution().optimizedPlan().stats().sizeInBytes())


def list_data_files(spark: SparkSession, path: str) -> list[tuple[str, int]]:
    """Return path relative to a folder, and size in bytes, of all visible files below it.

    A Spark job, which reads no file: one call for each file would take a millisecond. Raises `LakeError`.
    """
    root = f"{qualify_path(spark, path).rstrip('/')}/"
    with explained_lake(path):
        found = spark.read.format("binaryFile").option("recursiveFileLookup", "true").load(root)
        return [(row[0].removeprefix(root), row[1]) for row in found.select("path", "length").collect()]


def list_file_sizes(spark: SparkSession, folder: str) -> dict[str, int]:
    """Return sizes in bytes of the files in a folder by name, on any file system; empty for an absent folder.

    Raises `LakeError`.
    """
    with explained_lake(folder):
        return {file.getPath().getName(): int(file.getLen()) for file in _list_files(spark, folder)}


def list_file_states(spark: SparkSession, folder: str) -> dict[str, str]:
    """Return a text for each file in a folder by name, which changes when the file is replaced.

    Empty for an absent folder. Raises `LakeError`.
    """
    with explained_lake(folder):
        return {
            file.getPath().getName(): f"{file.getLen()} {file.getModificationTime()}"
            for file in _list_files(spark, folder)
        }


def _list_files(spark: SparkSession, folder: str) -> list[Any]:
    """Return Hadoop's `FileStatus` of the files in a folder. Raises the errors of py4j."""
    jvm = connect(spark)
    path = jvm.build_path(folder)
    system = path.getFileSystem(jvm.hadoop_conf)
    return [file for file in system.listStatus(path) if file.isFile()] if system.exists(path) else []


def read_file(spark: SparkSession, path: str) -> bytes:
    """Read a small file completely, from any file system. Raises `LakeError`."""
    jvm = connect(spark)
    with explained_lake(path):
        file = jvm.build_path(path)
        stream = file.getFileSystem(jvm.hadoop_conf).open(file)
        try:
            return bytes(stream.readAllBytes())
        finally:
            stream.close()


def read_file_if_there(spark: SparkSession, path: str) -> bytes | None:
    """Read a small file as `read_file` does; None if it does not exist."""
    jvm = connect(spark)
    with explained_lake(path):
        file = jvm.build_path(path)
        is_there = bool(file.getFileSystem(jvm.hadoop_conf).exists(file))
    return read_file(spark, path) if is_there else None


def update_properties(spark: SparkSession, path: str, values: Mapping[str, str]) -> None:
    """Set properties of the table at `path`. Raises `LakeError`."""
    with explained_lake(path):
        java = connect(spark)
        java.update_properties(java.build_meta_client(path), values)


@contextmanager
def explained_lake(path: str) -> Iterator[None]:
    """Convert exceptions of Spark, Hudi and Hadoop to `LakeError`."""
    try:
        yield
    except (Py4JError, PySparkException) as error:
        raise explain_lake_failure(path, error, list_temporary_folders()) from error


def list_temporary_folders() -> tuple[str, ...]:
    """Return the spill folders of this process's session; empty without a session."""
    context = SparkContext._active_spark_context
    if context is None or context._jvm is None:
        return ()
    try:
        found = context._jvm.org.apache.spark.SparkEnv.get().blockManager().diskBlockManager()
        return tuple(str(folder) for folder in found.localDirsString())
    # The session has ended: its JVM, or only its context, whose environment is then null.
    except (AttributeError, Py4JError, OSError):
        return ()
