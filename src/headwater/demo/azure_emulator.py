"""Azure's blobs and queues on this machine: `azurite`, Microsoft's emulator in the npm registry."""

import fcntl
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Literal

from headwater.config.azure_account import EMULATOR_ACCOUNT
from headwater.demo.server_process import HOST, ServerProcess
from headwater.errors import PlatformError

PACKAGE = "azurite@3.37.0"
INSTALL_NODE = "install Node.js, which has npm: https://nodejs.org"
_INSTALL_SECONDS = 900


class Azurite(ServerProcess):
    """One of its services, with its data below `folder`. `installed` is the package's folder."""

    title: ClassVar[str] = "the Azure emulator"
    log_name: ClassVar[str] = "azurite.log"
    ready_path: ClassVar[str] = f"/{EMULATOR_ACCOUNT}?comp=list"
    # A request without a signature.
    ready_status: ClassVar[int] = 403

    def __init__(self, service: Literal["blob", "queue"], installed: Path, folder: Path) -> None:
        super().__init__(folder / f"azurite-{service}")
        self._service = service
        self._installed = installed

    @property
    def account_endpoint(self) -> str:
        """Return the endpoint of the emulator's account."""
        return f"{self.endpoint}/{EMULATOR_ACCOUNT}"

    def build_command(self) -> Sequence[str]:
        """See `ServerProcess`."""
        script = self._installed / "node_modules/azurite/dist/src" / self._service / "main.js"
        address = [f"--{self._service}Host", HOST, f"--{self._service}Port", str(self.port)]
        # With `--inMemoryPersistence`, its queue service stops answering after about five thousand messages.
        options = ["--skipApiVersionCheck", "--disableTelemetry", "--silent", "--location", "."]
        return ["node", str(script), *address, *options]


def has_npm() -> bool:
    """True if this machine has npm, with which the emulator is installed."""
    return shutil.which("npm") is not None


def is_installed(folder: Path) -> bool:
    """True if the folder has this version."""
    mark = folder / "installed.txt"
    return mark.exists() and mark.read_text("utf-8") == PACKAGE


def ensure_azurite(folder: Path) -> Path:
    """Install the emulator into the folder unless it is there, one process at a time; return the folder.

    Raises `PlatformError` if npm is missing or cannot install it.
    """
    if not has_npm():
        raise PlatformError(f"{PACKAGE} needs npm, which is not installed", hint=INSTALL_NODE)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if is_installed(folder):
            return folder
        command = ["npm", "install", "--prefix", str(folder), "--no-audit", "--no-fund", PACKAGE]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_INSTALL_SECONDS)
        if done.returncode:
            raise PlatformError(
                f"the Azure emulator could not be installed into {folder}: {done.stderr.strip()[-500:]}",
                hint=f"check the network and npm's registry, then try: {' '.join(command)}",
            )
        (folder / "installed.txt").write_text(PACKAGE, "utf-8")
    return folder
