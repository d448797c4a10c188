"""Blobs of a container, as the service lists them."""

import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from headwater.errors import BucketNotFoundError
from headwater.sources.azure.azure_errors import asking
from headwater.sources.external_sort import ROW_SCHEMA, iter_sorted
from headwater.sources.lister import ListedObject
from headwater.sources.subject import Subject

if TYPE_CHECKING:
    from azure.storage.blob import BlobProperties, BlobServiceClient

RIGHTS = (
    "assign the role Storage Blob Data Reader, or disable listing: "
    "reconcile: {include_existing_files: false, backfill_interval: off}"
)
# An account with a hierarchical namespace lists its folders as blobs with this mark.
_FOLDER_MARK = "hdi_isfolder"


class AzureLister:
    """Lists the current blobs of one container. Calls `pace` before each request.

    Accounts with a hierarchical namespace list folder by folder, which is not the order of the names, and
    the service documents none for names beyond ASCII. So a listing is complete before its first blob is
    yielded: sorted in memory, or on disk if it takes several pages.
    """

    def __init__(
        self,
        client: "BlobServiceClient",
        container: str,
        *,
        pace: Callable[[], None] = lambda: None,
        page_size: int = 5_000,
    ) -> None:
        self._client = client
        self._container = container
        self._pace = pace
        self._page_size = page_size

    def iter_objects(self, prefix: str = "", start_after: str = "") -> Iterator[ListedObject]:
        """See `Lister.iter_objects`. Lists from the beginning, whatever `start_after`."""
        with tempfile.TemporaryDirectory(prefix="headwater-listing-") as folder:
            batches = (_to_batch(page) for page in self._iter_pages(prefix))
            for found in iter_sorted(batches, Path(folder)):
                if found.key > start_after:
                    yield found

    def _iter_pages(self, prefix: str) -> Iterator[list[ListedObject]]:
        listing = self._client.get_container_client(self._container).list_blobs(
            name_starts_with=prefix or None, include=["metadata"], results_per_page=self._page_size
        )
        pages = listing.by_page()
        subject = Subject(f"the listing of container {self._container}", "source.container", RIGHTS)
        while True:
            self._pace()
            with asking(subject, BucketNotFoundError):
                page = next(pages, None)
                if page is None:
                    return
                blobs = list(page)
            yield [to_listed(blob) for blob in blobs if not is_folder(blob)]

    def close(self) -> None:
        """Close connections."""
        self._client.close()


def _to_batch(page: Iterable[ListedObject]) -> pa.RecordBatch:
    rows = [{name: getattr(found, name) for name in ROW_SCHEMA.names} for found in page]
    return pa.RecordBatch.from_pylist(rows, schema=ROW_SCHEMA)


def is_folder(blob: "BlobProperties") -> bool:
    """True for a folder of an account with a hierarchical namespace."""
    metadata = {name.lower(): value for name, value in (blob.metadata or {}).items()}
    return metadata.get(_FOLDER_MARK) == "true"


def to_listed(blob: "BlobProperties") -> ListedObject:
    """Convert a blob of Azure's client. Without a version id: events do not name one."""
    return ListedObject(blob.name, blob.size, (blob.etag or "").strip('"'), None, blob.last_modified)
