"""The contract of transforms."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Transform(Protocol):
    """One lazy transform of a frame.

    Contract: each output row comes from one input row; a transform may drop rows and make several of one. The
    column `carried`, which identifies the row's origin, keeps its value and is not visible to users. Without
    `carried`, the frame is complete, and a transform may aggregate. It writes nothing and starts no job.

    Raises `TransformError` without the transform's name, which `Chain` adds.
    """

    def apply(self, frame: "DataFrame", carried: str | None) -> "DataFrame":
        """Return the transformed frame."""
        ...


@dataclass(frozen=True, slots=True)
class TransformSecrets:
    """Secrets of transforms that no file contains. `salt` belongs to `hash`."""

    salt: str | None = field(default=None, repr=False)
