"""What the requests about all resources have in common."""

from google.api_core.retry import Retry

from headwater.errors import ResourceConflictError
from headwater.sources.gcs.google_errors import is_busy
from headwater.sources.planning.actions import Observed
from headwater.sources.planning.ownership import Owner
from headwater.sources.subject import Subject

TIMEOUT = 30.0
PATIENT = Retry(predicate=is_busy, initial=0.2, maximum=5, timeout=60)


def name_resource(name: str) -> Subject:
    """Return the subject of a request about a resource, by its full name."""
    return Subject(name, "source", "")


def ensure_own(found: Observed | None, owner: Owner) -> None:
    """Raise `ResourceConflictError` if a resource that was created concurrently is not ours."""
    if found is not None and owner.judge(found.tags) != "ours":
        raise ResourceConflictError(
            f"{found.address} was created concurrently by another process",
            hint="run `headwater plan` to see what it is",
        )
