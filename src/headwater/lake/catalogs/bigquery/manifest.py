"""The manifest of a table: one URI per latest file, as Hudi's `ManifestFileWriter` writes it."""

from collections.abc import Sequence

from headwater.lake.options import TABLE_METADATA_FOLDER
from headwater.lake.snapshot_reader import to_uri
from headwater.lake.table_files import open_file_system

FOLDER = f"{TABLE_METADATA_FOLDER}/absolute-path-manifest"
_NAME = "latest-snapshot.csv"


def build_manifest_uri(location: str) -> str:
    """Return the manifest URI of the table at `location`."""
    return f"{location.rstrip('/')}/{FOLDER}/{_NAME}"


def read_manifest(location: str) -> tuple[str, ...] | None:
    """Return the URIs in the manifest, sorted, or None without a manifest. Raises `OSError`."""
    system, path = open_file_system(to_uri(build_manifest_uri(location)), {})
    try:
        with system.open_input_file(path) as file:
            return tuple(sorted(file.read().decode().splitlines()))
    except FileNotFoundError:
        return None


def write_manifest(location: str, files: Sequence[str]) -> None:
    """Replace the manifest atomically: readers see either the old or the new one. Raises `OSError`."""
    system, path = open_file_system(to_uri(build_manifest_uri(location)), {})
    content = "".join(f"{file}\n" for file in files).encode()
    if system.type_name != "local":
        # An object becomes visible only when its stream is closed.
        with system.open_output_stream(path) as file:
            file.write(content)
        return
    folder = path.rpartition("/")[0]
    system.create_dir(folder, recursive=True)
    # Write the temporary file outside: Hudi's own tool creates tables over all files in this folder.
    written = f"{folder}.written"
    with system.open_output_stream(written) as file:
        file.write(content)
    system.move(written, path)
