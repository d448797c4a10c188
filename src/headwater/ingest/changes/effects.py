"""`ChangeEffects`: what a batch of changes adds to the state of its table."""

from dataclasses import dataclass

from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class ChangeEffects:
    """`deletes` are `key` and `sequence` of deleted rows, None without any; `newest` is their highest
    sequence.

    `truncated` is the sequence of the newest truncate; empty without one. `shape` are the types of the parts
    of sequences: see `build_shape`.
    """

    deletes: DataFrame | None = None
    newest: str = ""
    truncated: str = ""
    shape: str = ""
