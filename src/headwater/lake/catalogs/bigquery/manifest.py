"""The manifest of a table: where its newest files lie, a URI a line, as Hudi's `ManifestFileWriter` does."""

from collections.abc import Sequence

from headwater.lake.options import TABLE_METADATA_FOLDER
from headwater.lake.snapshot_reader import to_uri
from headwater.lake.table_files import open_file_system

FOLDER = f"{TABLE_METADATA_FOLDER}/absolute-path-manifest"
_NAME = "latest-snapshot.csv"


def build_manifest_uri(location: str) -> str:
    """Of the table that lies there."""
    return f"{location.rstrip('/')}/{FOLDER}/{_NAME}"


def read_manifest(location: str) -> tuple[str, ...] | None:
    """The URIs in it, sorted; None for no manifest. Raises `OSError`."""
    system, path = open_file_system(to_uri(build_manifest_uri(location)), {})
    try:
        with system.open_input_file(path) as file:
            return tuple(sorted(file.read().decode().splitlines()))
    except FileNotFoundError:
        return None


def write_manifest(location: str, files: Sequence[str]) -> None:
    """Write it anew; a reader finds the older or the newer one, whole. Raises `OSError`."""
    system, path = open_file_system(to_uri(build_manifest_uri(location)), {})
    content = "".join(f"{file}\n" for file in files).encode()
    if system.type_name != "local":
        # An object is there when it is closed, and not before.
        with system.open_output_stream(path) as file:
            file.write(content)
        return
    folder = path.rpartition("/")[0]
    system.create_dir(folder, recursive=True)
    # Not beside it: Hudi's own tool makes tables over all files of that folder.
    written = f"{folder}.written"
    with system.open_output_stream(written) as file:
        file.write(content)
    system.move(written, path)
