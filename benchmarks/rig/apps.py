"""An `App` on a lake of its own, with credentials that the emulators take."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from headwater.app import App
from headwater.config.settings import Settings
from headwater.demo.emulator import CREDENTIALS, REGION, Emulator, ensure_emulator

JSON = dict[str, Any]
CACHE = Path(__file__).parents[2] / ".cache"


def build_emulator(folder: Path) -> Emulator:
    """An S3 and SQS emulator, not started yet; its files lie in `folder`."""
    return Emulator(ensure_emulator(CACHE / "emulator"), folder)


def use_emulator_credentials() -> None:
    """For boto3, and for the JVM that this process starts later."""
    os.environ.update(CREDENTIALS)
    os.environ.update(AWS_REGION=REGION, AWS_DEFAULT_REGION=REGION, AWS_EC2_METADATA_DISABLED="true")


def build_settings(folder: Path, source: JSON, tables: JSON, **further: Any) -> Settings:
    """A configuration whose lake is `folder/lake`."""
    return Settings.model_validate(
        {"source": source, "lake": str(folder / "lake"), "tables": tables, **further},
        context={"folder": folder},
    )


def write_config(folder: Path, settings: JSON) -> Path:
    """The same as a file, for a process."""
    path = folder / "headwater.yaml"
    YAML().dump({"lake": "lake", **settings}, path)
    return path


@contextmanager
def open_app(settings: Settings) -> Iterator[App]:
    """The app, closed at the end; its Spark session starts when first asked for."""
    app = App(settings)
    try:
        yield app
    finally:
        app.close()


@contextmanager
def open_folder_app(tables: JSON) -> Iterator[tuple[App, Path]]:
    """An app with a folder as source, `landing`, and the folder in which both lie; deleted at the end."""
    with tempfile.TemporaryDirectory() as name:
        landing = Path(name, "landing")
        landing.mkdir()
        source = {"type": "local", "path": str(landing)}
        with open_app(build_settings(Path(name), source, tables)) as app:
            yield app, Path(name)
