"""S3 and SQS on this machine: the `ministack` server in a separate process.

It has a separate venv, because it pins its botocore. The demo and the tests run it.
"""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from headwater.demo.server_process import HOST, ServerProcess
from headwater.errors import PlatformError

PACKAGE = "ministack==1.5.33"
# It only requires that credentials exist.
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
REGION = "us-east-1"


def ensure_emulator(folder: Path) -> Path:
    """Return the Python of the emulator's venv, which is created in `folder` if missing.

    Needs the network the first time. Raises `PlatformError` when it cannot be installed.
    """
    python = folder / "bin" / "python"
    if _server_script(python).exists():
        return python
    for command in (
        [sys.executable, "-m", "venv", str(folder)],
        [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", PACKAGE],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise PlatformError(
                f"the S3 emulator could not be installed into {folder}: {done.stderr.strip()[-500:]}",
                hint=f"check the network and pip's index, then try: {' '.join(command)}",
            )
    return python


class Emulator(ServerProcess):
    """S3 and SQS. `folder` also gets its temporary files.

    With `checks_rights` it checks each request against IAM and the resources' own policies.
    """

    title: ClassVar[str] = "the S3 emulator"
    log_name: ClassVar[str] = "emulator.log"
    ready_path: ClassVar[str] = "/_ministack/health"

    def __init__(self, python: Path, folder: Path, *, checks_rights: bool = False) -> None:
        super().__init__(folder)
        self._python = python
        self._checks_rights = checks_rights

    def build_command(self) -> Sequence[str]:
        """See `ServerProcess`."""
        script = _server_script(self._python)
        if not script.exists():
            raise PlatformError(
                f"{script} does not exist", hint=f"install {PACKAGE} there, or run `make setup`"
            )
        return [str(self._python), str(script)]

    def build_environment(self) -> Mapping[str, str]:
        """See `ServerProcess`."""
        return {
            "PATH": os.defpath,
            "HOME": str(self.folder),
            "TMPDIR": str(self.folder),
            "GATEWAY_PORT": str(self.port),
            "BIND_HOST": HOST,
            "LOG_LEVEL": "WARNING",
            "AUTH": "true" if self._checks_rights else "false",
        }


def _server_script(python: Path) -> Path:
    return python.parent / "ministack"
