"""Objects of a bucket in Google Cloud Storage, as its API lists them."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from google.api_core.retry import Retry

from headwater.errors import BucketNotFoundError
from headwater.sources.gcs.google_errors import asking, is_busy
from headwater.sources.lister import ListedObject
from headwater.sources.subject import Subject

if TYPE_CHECKING:
    from google.cloud.storage import Blob, Client

# A listing takes minutes to hours: a busy or restarting service must not end it.
PATIENT = Retry(predicate=is_busy, initial=0.5, maximum=30, timeout=300)
_FIELDS = "items(name,size,generation,timeCreated),nextPageToken"
_RIGHTS = (
    "grant roles/storage.objectViewer on the bucket, or disable listing: "
    "reconcile: {include_existing_files: false, backfill_interval: off}"
)


class GcsLister:
    """Lists the live objects of one bucket, page by page. Calls `pace` before each request."""

    def __init__(
        self,
        client: "Client",
        bucket: str,
        *,
        pace: Callable[[], None] = lambda: None,
        page_size: int = 1000,
    ) -> None:
        self._client = client
        self._bucket = bucket
        self._pace = pace
        self._page_size = page_size

    def iter_objects(self, prefix: str = "", start_after: str = "") -> Iterator[ListedObject]:
        """See `Lister.iter_objects`."""
        request: dict[str, Any] = {"prefix": prefix or None, "page_size": self._page_size, "fields": _FIELDS}
        # The offset is the first key that is listed.
        listing = self._client.list_blobs(
            self._bucket, start_offset=start_after or None, retry=PATIENT, **request
        )
        subject = Subject(f"the listing of bucket {self._bucket}", "source.bucket", _RIGHTS)
        pages = listing.pages
        while True:
            self._pace()
            with asking(subject, BucketNotFoundError):
                page = next(pages, None)
            if page is None:
                return
            for blob in page:
                if blob.name != start_after:
                    yield to_listed(blob)

    def close(self) -> None:
        """Close connections."""
        self._client.close()


def to_listed(blob: "Blob") -> ListedObject:
    """Convert an object of Google's client. Its generation takes the place of the etag, see `read_state`."""
    generation = str(blob.generation)
    return ListedObject(blob.name, blob.size, generation, generation, blob.time_created)
