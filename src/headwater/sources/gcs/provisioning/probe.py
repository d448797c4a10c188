"""The object of a probe in Cloud Storage."""

from typing import TYPE_CHECKING

from google.api_core import exceptions as api

from headwater.sources.gcs.google_errors import needing
from headwater.sources.gcs.provisioning.requests import PATIENT, TIMEOUT
from headwater.sources.probe import PROBE_CONTENT, name_probe
from headwater.sources.subject import Subject

if TYPE_CHECKING:
    from google.cloud.storage import Bucket


class GcsProbeObject:
    """See `ProbeObject`."""

    def __init__(self, bucket: "Bucket", prefix: str) -> None:
        self._bucket = bucket
        self._subject = Subject(f"bucket {bucket.name}", "source", "")
        self._generations: list[int] = []
        self.bucket = str(bucket.name)
        self.key = name_probe(prefix)

    def put(self) -> None:
        """See `ProbeObject`."""
        blob = self._bucket.blob(self.key)
        with needing("storage.objects.create", self._subject):
            blob.upload_from_string(PROBE_CONTENT, timeout=TIMEOUT, retry=PATIENT)
        self._generations.append(blob.generation)

    def remove(self) -> None:
        """Delete every generation that was put, so that a versioned bucket keeps none."""
        generations, self._generations = self._generations, []
        for generation in generations:
            with needing("storage.objects.delete", self._subject):
                try:
                    self._bucket.delete_blob(self.key, generation=generation, timeout=TIMEOUT, retry=PATIENT)
                except api.NotFound:
                    # A bucket without versions has only the newest generation.
                    continue
