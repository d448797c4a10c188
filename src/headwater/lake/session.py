"""Builds the SparkSession. No other module does."""

import logging
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkConf
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from headwater.config.environment import overlaid_environment, read_environment
from headwater.config.settings import Settings
from headwater.errors import PlatformError
from headwater.lake.allocator import ARENAS, ARENAS_VARIABLE
from headwater.lake.failures import is_no_space, measure_free
from headwater.lake.jvm import is_context_stopped, keep_functions, start_jvm
from headwater.lake.prerequisites.azure_driver import build_azure_settings, ensure_azure_credentials
from headwater.lake.prerequisites.google_credentials import find_google_credentials
from headwater.lake.prerequisites.prepared_start import PreparedStart
from headwater.lake.prerequisites.run_log import describe_run_log, is_in_run_log, note_run_log
from headwater.lake.prerequisites.spark_settings import (
    build_pools,
    build_spark_settings,
    choose_python,
    list_provided,
)
from headwater.lake.prerequisites.temporary_folder import add_temporary_folder

_log = logging.getLogger(__name__)

_OWN_FOLDER = re.compile(r"(/\S*)/spark-[0-9a-f]{8}-[0-9a-f-]{27}/")
"""The folder that Spark creates for itself among temporary files."""

_POOLS_SETTING = "spark.scheduler.allocation.file"

_EXIT_SECONDS = 5.0
_OUT_OF_MEMORY = 52
"""Exit status of a JVM after an `OutOfMemoryError` in a task (`SparkExitCode.OOM`)."""


def build_session(
    settings: Settings, *, java_home: str, log_file: Path, is_brief: bool = False
) -> SparkSession:
    """Build the only SparkSession. The JVM's output goes to `log_file`, not to the terminal.

    `is_brief` as in `build_spark_settings`.

    Raises `PlatformError` if the jars cannot be downloaded or the JVM does not start, `CredentialsError` if
    Spark does not support those of the lake.
    """
    environ = read_environment()
    ensure_azure_credentials(settings, environ)
    wanted = build_azure_settings(settings, environ) | build_spark_settings(settings, is_brief=is_brief)
    start = PreparedStart.find(environ).plan(wanted, environ, Path(java_home), list_provided(settings))
    conf = SparkConf()
    for name, value in start.settings.items():
        conf.set(name, value)
    log_file.parent.mkdir(parents=True, exist_ok=True)
    note_run_log(log_file)
    if settings.spark.pools and _POOLS_SETTING not in settings.spark.config:
        pools_file = log_file.with_name("pools.xml")
        pools_file.write_bytes(build_pools(settings.spark.pools))
        conf.set(_POOLS_SETTING, pools_file.absolute().as_uri())
    if options := add_temporary_folder(start.settings, environ):
        conf.set(*options)
    python = choose_python(start.settings, environ, sys.executable)
    # PySpark starts the JVM with the process environment and has no other option to select a Java. It reads
    # the Python of its workers only from there, too.
    arenas = environ.get(ARENAS_VARIABLE, ARENAS)
    variables = {
        "JAVA_HOME": java_home,
        "PYSPARK_PYTHON": python,
        ARENAS_VARIABLE: arenas,
        **find_google_credentials(settings, environ),
        **start.environment,
    }
    # A thread that captures may be reading the real one. PySpark adds two variables, with its own defaults.
    with overlaid_environment(variables), _output_to(log_file):
        try:
            start_jvm(conf)
            spark = SparkSession.builder.config(conf=conf).getOrCreate()
        except (PySparkException, Py4JError, OSError, RuntimeError) as error:
            raise _explain_start_failure(log_file, str(error)) from error
    context: Any = spark.sparkContext
    context.setLogLevel("WARN")
    keep_functions(context)
    # It prints a traceback when the JVM ends, and whoever notices the end reports it.
    context._accumulatorServer.handle_error = lambda *_: _log.debug("accumulator server", exc_info=True)
    return spark


def is_session_alive(spark: SparkSession) -> bool:
    """True if the JVM of a session is running, or was not started by this process."""
    process = getattr(spark.sparkContext._gateway, "proc", None)
    return process is None or process.poll() is None


def can_run_jobs(spark: SparkSession) -> bool:
    """True unless the JVM has ended, or Spark in it."""
    return is_session_alive(spark) and not is_context_stopped(spark)


def explain_end(spark: SparkSession) -> PlatformError | None:
    """Return why the session can run no job any more; None if it can."""
    if can_run_jobs(spark):
        return None
    process = getattr(spark.sparkContext._gateway, "proc", None)
    with suppress(subprocess.TimeoutExpired):
        if process is not None:
            # A JVM closes its connections some time before it exits.
            return _explain_end_of_jvm(process.wait(_EXIT_SECONDS))
    return PlatformError(
        "Spark has stopped; the cluster may have ended the application of this run",
        hint=f"start again: the run resumes where it stopped; {describe_run_log()}",
    )


def find_end() -> PlatformError | None:
    """Return why this process's session can run no job any more; None if it can, or if there is none."""
    spark = SparkSession._instantiatedSession
    return None if spark is None else explain_end(spark)


def _explain_end_of_jvm(status: int) -> PlatformError:
    # A JVM that fails twice has another exit status.
    if status > 0 and (status == _OUT_OF_MEMORY or is_in_run_log("java.lang.OutOfMemoryError")):
        return PlatformError(
            "the JVM of this run ran out of memory",
            hint="raise `spark.driver_memory`, or run fewer tasks at the same time: `spark: {master: "
            f'"local[2]"}}`; then start again: the run resumes where it stopped; {describe_run_log()}',
        )
    if status == -signal.SIGKILL:
        return PlatformError(
            "the JVM of this run was killed",
            hint="if the system did that for lack of memory, lower `spark.driver_memory`, or give the "
            "machine or container more; then start again: the run resumes where it stopped; "
            f"{describe_run_log()}",
        )
    return PlatformError(
        "the JVM of this run has ended",
        hint=f"start again: the run resumes where it stopped; {describe_run_log()}",
    )


def find_jvm_process(spark: SparkSession) -> int | None:
    """Return the process ID of the JVM; None if this process did not start it."""
    process = getattr(spark.sparkContext._gateway, "proc", None)
    return None if process is None else int(process.pid)


def _explain_start_failure(log_file: Path, text: str) -> PlatformError:
    if is_no_space(text):
        found = _OWN_FOLDER.search(text)
        where = found[1] if found else tempfile.gettempdir()
        return PlatformError(
            f"Spark did not start: no space left for its temporary files in {where}{measure_free(where)}",
            hint="it copies its jars there, about 90 MB: free space, or set a larger folder: "
            "`spark: {config: {spark.local.dir: FOLDER}}`",
        )
    log = log_file.read_text("utf-8", errors="replace")[-50_000:]
    if "UNRESOLVED DEPENDENCIES" in log or "unresolved dependency" in log or "download failed" in log:
        return PlatformError(
            "the Hudi jars could not be downloaded from Maven Central",
            hint="check the network or proxy, or set a mirror with spark.config: "
            f"{{spark.jars.ivySettings: FILE}}; Ivy's output is in {log_file}",
        )
    if "UnsupportedClassVersionError" in log:
        return PlatformError("this Java is too old for Spark and Hudi", hint="use Java 11 or 17")
    return PlatformError(
        "Spark did not start", hint=f"the JVM's output is in {log_file}; `headwater doctor` checks Java"
    )


@contextmanager
def _output_to(log_file: Path) -> Iterator[None]:
    """Redirect the output of child processes started here to a file: our own stdout may be JSON."""
    sys.stdout.flush()
    sys.stderr.flush()
    saved = {descriptor: os.dup(descriptor) for descriptor in (1, 2)}
    try:
        with log_file.open("ab") as log:
            for descriptor in saved:
                os.dup2(log.fileno(), descriptor)
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for descriptor, copy in saved.items():
            os.dup2(copy, descriptor)
            os.close(copy)
