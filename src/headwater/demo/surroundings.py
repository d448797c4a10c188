"""The environment of a demo: a fresh folder, its headwater.yaml, and variables without the user's clouds."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import headwater
from headwater.config.environment import read_environment, temporary_environment
from headwater.demo.emulator import CREDENTIALS, REGION
from headwater.demo.server_process import HOST
from headwater.errors import PlatformError

# Variables of the clouds' clients, and keys of a configuration.
_OWN = ("AWS_", "AZURE_", "GOOGLE_", "HEADWATER__", "PUBSUB_", "STORAGE_EMULATOR_")
_CONFIG = """\
# Written by `headwater demo`. The services at the endpoints ran only during the demo.
source:
{source}lake: lake
tables:
  orders:                    # JSON lines, some gzipped: rows follow their key, the newest change wins
    path: ["orders/**/*.json", "orders/**/*.json.gz"]
    record_key: order_id
    ordering: updated_at
    on_bad_object: {{missing: quarantine}}  # by default, it is retried for a while
  clicks:                    # CSV: each file's rows are added once
    path: clicks/**
    format: csv
    options: {{header: "true"}}
    schema: {click_schema}
    partition_columns: day
  products:                  # Parquet: rows follow their key, the newer file wins
    path: products/**/*.parquet
    record_key: product_id
  shelf:                     # one JSON file a product: rows follow their file and are deleted with it
    path: shelf/*.json
    mode: mirror
search:                      # the shelf, for visitors: `headwater serve`
  table: shelf
  id: product_id
  text: {{title: 3, description: 1}}
  page:                      # what http://127.0.0.1:8080/ shows of a product
    facts: [category, stock]
    sort: [stock]
    examples: [grind coffee beans by hand, green tea under 40, a warm light for the living room]
  serve: {{sync_interval: 0.5}}
"""
_CLICK_SCHEMA = (
    "click_id bigint, session string, page string, referrer string, product_id string, at timestamp, ms int"
)


@dataclass(frozen=True, slots=True)
class Workspace:
    """The folder of one demo."""

    folder: Path

    @property
    def config_path(self) -> Path:
        """Return its headwater.yaml."""
        return self.folder / "headwater.yaml"

    @property
    def log_path(self) -> Path:
        """Return the file of log lines that would break the screen."""
        return self.folder / "demo.log"

    @property
    def emulator_folder(self) -> Path:
        """Return the folder of the emulator's log and temporary files."""
        return self.folder / "emulator"

    def write_config(self, source: str) -> None:
        """Write the file that a user would write, with this `source` section."""
        text = _CONFIG.format(source=source, click_schema=json.dumps(_CLICK_SCHEMA))
        self.config_path.write_text(text, "utf-8")


def create_workspace(parent: Path, now: datetime) -> Workspace:
    """Create a folder below `parent`, named after the time. Raises `PlatformError` on failure."""
    stem = f"run-{now:%Y%m%d-%H%M%S}"
    try:
        parent.mkdir(parents=True, exist_ok=True)
        taken = {path.name for path in parent.iterdir()}
        names = (stem, *(f"{stem}-{number}" for number in range(2, 1000)))
        folder = parent / next(name for name in names if name not in taken)
        folder.mkdir()
    except OSError as error:
        raise PlatformError(
            f"{parent}: cannot create a folder there: {error.strerror}", hint="choose another with --dir"
        ) from error
    return Workspace(folder)


def find_emulator_folder(name: str) -> Path:
    """Return the folder of installed emulators: the clone's own, else one in the user's cache."""
    root = Path(headwater.__file__).parents[2]
    if (root / "scripts" / "install.py").exists():
        return root / ".cache" / name
    cache = read_environment().get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "headwater" / name


@contextmanager
def use_emulator_only() -> Iterator[Mapping[str, str]]:
    """Disable the user's access to clouds, and proxies, inside the block.

    Yields the environment of the block.
    """
    environ = read_environment()
    own: dict[str, str | None] = {name: None for name in environ if name.startswith(_OWN)}
    direct = ",".join(filter(None, (environ.get("NO_PROXY") or environ.get("no_proxy"), HOST, "localhost")))
    changes = own | {
        **CREDENTIALS,
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_CONFIG_FILE": "/dev/null",
        "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
        "AWS_EC2_METADATA_DISABLED": "true",
        "NO_PROXY": direct,
        "no_proxy": direct,
    }
    with temporary_environment(changes):
        yield environ
