"""What a kind of transform step is."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Transform(Protocol):
    """One step of a chain: a frame becomes another one, lazily.

    Contract: each row of the result comes from one row of the frame; it may drop rows, and make several of
    one. The column `carried`, which tells the row's origin, is in the result with the value it had, and is
    none of the columns that the step's user names. Without `carried` the frame is all there is, and a step
    may make one row of several, too. Nothing is written, and no job is started.

    Raises `TransformError` with what is wrong, without naming the step: `Chain` does that.
    """

    def apply(self, frame: "DataFrame", carried: str | None) -> "DataFrame":
        """The frame after this step."""
        ...


@dataclass(frozen=True, slots=True)
class TransformSecrets:
    """What steps need and no file holds. `salt` is that of `hash`."""

    salt: str | None = field(default=None, repr=False)
