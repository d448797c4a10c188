"""Installs and starts the emulators of a cloud."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from headwater.config.environment import read_environment
from headwater.demo.clouds.cloud import Cloud
from headwater.demo.clouds.names import CloudName
from headwater.demo.surroundings import find_emulator_folder

EMULATOR_PYTHON_VARIABLE = "HEADWATER_EMULATOR_PYTHON"


def open_cloud(
    name: CloudName, folder: Path, announce: Callable[[str], None]
) -> AbstractContextManager[Cloud]:
    """Return the cloud, ready to be entered. `folder` gets the emulators' logs and temporary files.

    `announce` receives what is about to be installed. Raises `PlatformError` when that is impossible.
    """
    if name is CloudName.s3:
        from headwater.demo.clouds.s3 import open_s3

        return open_s3(_ensure_s3(announce), folder)
    if name is CloudName.gcs:
        from headwater.demo.clouds.gcs import open_gcs

        return open_gcs(_ensure_gcs(announce), folder)
    from headwater.demo.azure_emulator import ensure_azurite, is_installed
    from headwater.demo.clouds.azure import open_azure

    installed = find_emulator_folder("azurite")
    if not is_installed(installed):
        announce(f"Installing the Azure emulator into {installed} (once; about 360 MB) ...")
    return open_azure(ensure_azurite(installed), folder)


def _ensure_s3(announce: Callable[[str], None]) -> Path:
    from headwater.demo.emulator import ensure_emulator, has_emulator

    folder = find_emulator_folder("emulator")
    if given := _find_given():
        return given
    if not has_emulator(folder / "bin" / "python"):
        announce(f"Installing the S3 and SQS emulator into {folder} (once; about 20 MB) ...")
    return ensure_emulator(folder)


def _ensure_gcs(announce: Callable[[str], None]) -> Path:
    from headwater.demo.emulator_venv import ensure_package
    from headwater.demo.google_emulators import PACKAGE, ensure_pubsub, find_storage_binary

    ensure_pubsub()
    folder = find_emulator_folder("emulator")
    if given := _find_given():
        return given
    if find_storage_binary(folder / "bin" / "python") is None:
        announce(f"Installing the Cloud Storage emulator into {folder} (once; about 20 MB) ...")
    return ensure_package(folder, PACKAGE, lambda python: find_storage_binary(python) is not None)


def _find_given() -> Path | None:
    """Return the Python in HEADWATER_EMULATOR_PYTHON, if set."""
    given = read_environment().get(EMULATOR_PYTHON_VARIABLE)
    return Path(given) if given else None
