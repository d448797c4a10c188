"""Objects of a bucket from an S3 Inventory report: no listing request, whatever the bucket's size."""

import hashlib
import shutil
import tempfile
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from headwater.errors import SourceError, UsageError
from headwater.sources.external_sort import iter_sorted
from headwater.sources.lister import ListedObject
from headwater.sources.s3.inventory.manifest import InventoryFile, InventoryManifest, parse_manifest
from headwater.sources.s3.inventory.rows import iter_rows

_COPY_BYTES = 1024 * 1024


class InventoryFiles(Protocol):
    """Access to the manifest and data files."""

    def fetch(self, uri: str, target: Path) -> None:
        """Download a file. Raises `UsageError` if there is none, `SourceError` if it is unreadable."""
        ...


class S3InventoryLister:
    """Lists the objects of a report; `created_at` is the time of the report.

    The files are unordered, so they are sorted on disk with bounded memory. The temporary folder needs about
    twice the report's size.
    """

    def __init__(self, manifest_uri: str, bucket: str, files: InventoryFiles) -> None:
        self._uri = manifest_uri
        self._bucket = bucket
        self._files = files

    @cached_property
    def manifest(self) -> InventoryManifest:
        """Return the manifest, fetched once.

        Raises `UsageError` if it is not of this bucket's inventory, and `SourceError` if it is not the one
        that S3 wrote.
        """
        with tempfile.TemporaryDirectory(prefix="headwater-inventory-") as folder:
            target = Path(folder) / "manifest.json"
            self._files.fetch(self._uri, target)
            self._check_manifest(target)
            manifest = parse_manifest(target.read_text("utf-8", errors="replace"), self._uri)
        if manifest.bucket != self._bucket:
            raise UsageError(
                f"{self._uri} is the inventory of bucket {manifest.bucket}",
                hint=f"source.bucket is {self._bucket}: specify an inventory of that bucket",
            )
        return manifest

    def iter_objects(self, prefix: str = "", start_after: str = "") -> Iterator[ListedObject]:
        """See `Lister.iter_objects`. Fetches and checks all files before it yields the first object."""
        with tempfile.TemporaryDirectory(prefix="headwater-inventory-") as name:
            folder = Path(name)
            fetched = [self._fetch(file, folder / f"{at:06d}") for at, file in enumerate(self.manifest.files)]
            yield from iter_sorted(self._iter_rows(fetched, prefix, start_after), folder)

    def _fetch(self, file: InventoryFile, stem: Path) -> Path:
        path = stem.with_suffix(".csv.gz" if file.key.endswith(".gz") else ".data")
        self._files.fetch(self._address(file), path)
        found = _compute_md5(path)
        if found != file.md5:
            raise SourceError(
                f"{self._address(file)} does not match the manifest: its MD5 is {found}, "
                f"not {file.md5} ({path.stat().st_size} of {file.size} bytes); none of it was used",
                hint="download the report again, or use another day's report",
            )
        return path

    def _check_manifest(self, manifest: Path) -> None:
        """Check the MD5 that S3 writes last, next to the manifest: by then the report is complete."""
        uri = self._uri.removesuffix(".json") + ".checksum"
        target = manifest.with_suffix(".checksum")
        try:
            self._files.fetch(uri, target)
        except UsageError:
            return  # a copied report may lack it
        wanted, found = target.read_text("ascii", errors="replace").strip().lower(), _compute_md5(manifest)
        if found != wanted:
            raise SourceError(
                f"{self._uri} does not match its checksum file {uri}: "
                f"its MD5 is {found}, not {wanted}; none of it was used",
                hint="download the report again, or use another day's report",
            )

    def _address(self, file: InventoryFile) -> str:
        if self._uri.startswith("s3://"):
            return f"s3://{self.manifest.destination}/{file.key}"
        # A copy of the report's folders: <config>/<date>/manifest.json and <config>/data/<file>.
        return str(Path(self._uri).parent.parent / "data" / Path(file.key).name)

    def _iter_rows(self, paths: list[Path], prefix: str, start_after: str) -> Iterator[pa.RecordBatch]:
        for path, file in zip(paths, self.manifest.files, strict=True):
            for batch in iter_rows(path, self.manifest, self._address(file)):
                keys = batch.column("key")
                wanted = pc.and_(pc.starts_with(keys, prefix), pc.greater(keys, start_after))
                yield batch.filter(wanted)
            path.unlink()


class LocalFiles:
    """Files of this machine: a report that was copied here."""

    def fetch(self, uri: str, target: Path) -> None:
        """See `InventoryFiles.fetch`."""
        try:
            shutil.copyfile(uri, target)
        except (FileNotFoundError, IsADirectoryError) as error:
            raise UsageError(
                f"{uri}: no such file",
                hint="a copied report has manifest.json in a folder next to data/",
            ) from error
        except OSError as error:
            raise SourceError(
                f"{uri} cannot be read: {error.strerror}", hint="check its permissions"
            ) from error


def _compute_md5(path: Path) -> str:
    with path.open("rb") as stream:
        found = hashlib.md5(usedforsecurity=False)
        while block := stream.read(_COPY_BYTES):
            found.update(block)
    return found.hexdigest()
