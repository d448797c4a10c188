"""What a session is started with."""

import ctypes
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from headwater.lake.allocator import ARENAS, ARENAS_VARIABLE


def test_temporary_files_of_the_jvm_are_in_a_folder_of_this_process(spark: SparkSession) -> None:
    assert spark.sparkContext._jvm is not None
    folder = Path(spark.sparkContext._jvm.java.lang.System.getProperty("java.io.tmpdir"))
    assert folder.is_dir()
    assert folder.parent.name.startswith("headwater-")
    assert (folder.parent / f"{folder.name}.lock").exists()


def test_threads_of_the_jvm_share_the_memory_that_they_have_freed(spark: SparkSession) -> None:
    assert spark.sparkContext._jvm is not None
    found = spark.sparkContext._jvm.java.lang.System.getenv(ARENAS_VARIABLE)
    assert found == os.environ.get(ARENAS_VARIABLE, ARENAS)


def test_the_jvm_has_space_for_the_compiled_code_of_many_tables(spark: SparkSession) -> None:
    assert spark.sparkContext._jvm is not None
    pools = spark.sparkContext._jvm.java.lang.management.ManagementFactory.getMemoryPoolMXBeans()
    code = [pool.getUsage().getMax() for pool in pools if pool.getName().startswith("Code")]
    assert sum(code) >= 500 * 1024 * 1024


def test_starting_a_session_adds_no_variable_that_threads_may_be_reading(spark: SparkSession) -> None:
    # PySpark sets both at the start. setenv in one thread and getenv in another, as in libcurl, can crash.
    read = ctypes.CDLL(None).getenv
    read.restype = ctypes.c_char_p
    assert read(b"SPARK_BUFFER_SIZE") is read(b"SPARK_AUTH_SOCKET_TIMEOUT") is None


def test_functions_are_looked_up_once_and_in_any_thread(spark: SparkSession) -> None:
    assert spark.sparkContext._jvm is not None
    functions = spark.sparkContext._jvm.functions
    assert functions.col is functions.col
    with ThreadPoolExecutor(4) as pool:
        frames = list(pool.map(lambda n: spark.range(3).select(F.col("id") + F.lit(n)), range(8)))
    assert [frame.collect()[0][0] for frame in frames] == list(range(8))
