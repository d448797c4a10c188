"""S3 and SQS on this machine: the `ministack` server in a separate process.

It has a separate venv, because it pins its botocore. The demo and the tests run it.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from headwater.demo.emulator_venv import ensure_package
from headwater.demo.server_process import HOST, ServerProcess
from headwater.errors import PlatformError

PACKAGE = "ministack==1.5.33"
# It only requires that credentials exist.
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
REGION = "us-east-1"


def ensure_emulator(folder: Path) -> Path:
    """Return the Python of the emulator's venv in `folder`, see `ensure_package`."""
    return ensure_package(folder, PACKAGE, has_emulator)


def has_emulator(python: Path) -> bool:
    """True if the emulator is in the venv of `python`."""
    return _server_script(python).exists()


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
