"""An `App` on a lake of its own, with credentials that the emulators take."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from headwater.app import App
from headwater.config.settings import Settings
from headwater.demo.emulator import CREDENTIALS, REGION

JSON = dict[str, Any]


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


@contextmanager
def open_app(settings: Settings) -> Iterator[App]:
    """The app, closed at the end; its Spark session starts when first asked for."""
    app = App(settings)
    try:
        yield app
    finally:
        app.close()
