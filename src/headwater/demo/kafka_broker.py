"""Kafka on this machine: one broker, from its jars in Maven Central."""

import fcntl
import socket
import subprocess
from collections.abc import Sequence
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

from headwater.config.environment import read_environment
from headwater.demo.server_process import HOST, ServerProcess, find_free_port
from headwater.errors import PlatformError
from headwater.lake.prerequisites.java import find_java

VERSION = "3.9.1"
_PACKAGE = ("org.apache.kafka", "kafka_2.13", VERSION)
_CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
_INSTALL_SECONDS = 900
# One broker is also the controller; what Kafka keeps three times for others, it keeps once.
_PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@{host}:{controller}
listeners=PLAINTEXT://{host}:{port},CONTROLLER://{host}:{controller}
advertised.listeners=PLAINTEXT://{host}:{port}
controller.listener.names=CONTROLLER
log.dirs={folder}/data
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
group.initial.rebalance.delay.ms=0
log.cleaner.backoff.ms=100
log.initial.task.delay.ms=1000
log.retention.check.interval.ms=500
log.segment.delete.delay.ms=100
auto.create.topics.enable=false
"""


class KafkaBroker(ServerProcess):
    """One broker, in KRaft mode, with its data below `folder`. `jars` is the folder of its jars."""

    title: ClassVar[str] = "the Kafka broker"
    log_name: ClassVar[str] = "kafka.log"

    def __init__(self, jars: Path, folder: Path) -> None:
        super().__init__(folder.absolute() / "kafka")
        self._jars = jars

    @property
    def bootstrap(self) -> str:
        """Return the address for `bootstrap`."""
        return f"{HOST}:{self.port}"

    def build_command(self) -> Sequence[str]:
        """See `ServerProcess`. Formats the storage of a new broker."""
        options = ["-Xmx400m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
        java = [str(_find_java()), *options, "-cp", f"{self._jars}/*"]
        config = self.folder / "server.properties"
        text = _PROPERTIES.format(host=HOST, port=self.port, controller=find_free_port(), folder=self.folder)
        config.write_text(text, "utf-8")
        format_storage = ["kafka.tools.StorageTool", "format", "--ignore-formatted", "-t", _CLUSTER_ID]
        subprocess.run([*java, *format_storage, "-c", str(config)], capture_output=True, check=False)
        return [*java, "kafka.Kafka", str(config)]

    def answers(self) -> bool:
        """See `ServerProcess`: it accepts connections."""
        with closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) as probe:
            probe.settimeout(2)
            return probe.connect_ex((HOST, self.port)) == 0


def is_installed(folder: Path) -> bool:
    """True if the folder has the jars of this version."""
    mark = folder / "installed.txt"
    return mark.exists() and mark.read_text("utf-8") == VERSION


def ensure_kafka(folder: Path) -> Path:
    """Download the jars into the folder unless they are there, one process at a time; return their folder.

    By Ivy, which comes with PySpark. Raises `PlatformError`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not is_installed(folder):
            _download(folder)
            (folder / "installed.txt").write_text(VERSION, "utf-8")
    return folder / "jars"


def _download(folder: Path) -> None:
    pyspark = find_spec("pyspark")
    if pyspark is None or pyspark.origin is None:
        raise PlatformError("PySpark is not installed", hint="pip install headwater")
    ivy = Path(pyspark.origin).parent / "jars"
    command = [str(_find_java()), "-cp", f"{ivy}/*", "org.apache.ivy.Main", "-cache", str(folder / "ivy")]
    command += ["-dependency", *_PACKAGE, "-confs", "default", "-types", "jar", "bundle"]
    command += ["-retrieve", f"{folder}/jars/[artifact]-[revision].[ext]"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_INSTALL_SECONDS)
    if done.returncode or not list((folder / "jars").glob(f"kafka_*-{VERSION}.jar")):
        raise PlatformError(
            f"Kafka {VERSION} could not be installed into {folder}: {done.stdout.strip()[-500:]}",
            hint="check the network and Maven Central, then try again",
        )


def _find_java() -> Path:
    return find_java(read_environment()).path / "bin" / "java"
