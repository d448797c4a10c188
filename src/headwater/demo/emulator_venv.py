"""The venv of the emulators that are Python packages: they pin libraries that headwater does not."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from headwater.errors import PlatformError


def ensure_package(folder: Path, package: str, is_there: Callable[[Path], bool]) -> Path:
    """Return the Python of the venv in `folder`, in which the package is installed if it is missing.

    `is_there` looks for it, given the venv's Python. Needs the network the first time. Raises `PlatformError`
    when it cannot be installed.
    """
    python = folder / "bin" / "python"
    if is_there(python):
        return python
    for command in (
        [sys.executable, "-m", "venv", str(folder)],
        [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", package],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise PlatformError(
                f"{package} could not be installed into {folder}: {done.stderr.strip()[-500:]}",
                hint=f"check the network and pip's index, then try: {' '.join(command)}",
            )
    return python
