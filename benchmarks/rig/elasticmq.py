"""ElasticMQ: an SQS server that stays fast with tens of thousands of messages, as a process of its own."""

import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

from benchmarks.pairs import say
from benchmarks.rig.processes import find_free_port
from headwater.config.environment import read_environment
from headwater.lake.prerequisites.java import find_java

CACHE = Path(__file__).parents[2] / ".cache" / "elasticmq"
MODULE = ("org.elasticmq", "elasticmq-server_2.13", "1.6.9")
_JARS = 39
_START_SECONDS = 60

_CONFIG = """
include classpath("application.conf")
node-address {{ protocol = http, host = "127.0.0.1", port = {port}, context-path = "" }}
rest-sqs {{ enabled = true, bind-port = {port}, bind-hostname = "127.0.0.1", sqs-limits = strict }}
rest-stats {{ enabled = false }}
"""


@contextmanager
def run_elasticmq(folder: Path) -> Iterator[str]:
    """Start a server with no queues on a free port; yields its endpoint, ends it by its id."""
    java = str(find_java(read_environment()).path / "bin" / "java")
    jars = _ensure_jars(java)
    port = find_free_port()
    config = folder / "elasticmq.conf"
    config.write_text(_CONFIG.format(port=port), "utf-8")
    command = [java, "-Xmx1g", f"-Dconfig.file={config}", "-cp", f"{jars}/*", "org.elasticmq.server.Main"]
    with (
        (folder / "elasticmq.log").open("wb") as log,
        subprocess.Popen(command, stdout=log, stderr=log) as server,
    ):
        try:
            _wait_until_open(port, server)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()


def _ensure_jars(java: str) -> Path:
    """The folder with the server's jars, fetched with the Ivy that PySpark ships."""
    target = CACHE / "-".join(MODULE[1:])
    if len(list(target.glob("*.jar"))) >= _JARS:
        return target
    say(f"fetching {':'.join(MODULE)} (once; {_JARS} jars, 37 MB)")
    (ivy,) = (Path(pyspark.__file__).parent / "jars").glob("ivy-*.jar")
    with tempfile.TemporaryDirectory() as cache:
        # A cache of its own: what Spark's resolver remembers names resolvers that Ivy's own do not know.
        command = [java, "-jar", str(ivy), "-error", "-cache", cache, "-confs", "default"]
        command += ["-dependency", *MODULE, "-retrieve", f"{target}/[artifact]-[revision].[ext]"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return target


def _wait_until_open(port: int, server: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.1)
    raise TimeoutError(f"ElasticMQ does not answer on port {port}")
