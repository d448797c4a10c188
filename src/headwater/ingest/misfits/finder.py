"""`MisfitFinder`: finds what is wrong with the records of one table. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headwater.ingest.misfits.csv_misfit import CsvRules, find_csv_misfit
from headwater.ingest.misfits.json_misfit import find_json_misfit
from headwater.ingest.misfits.misfit import Misfit


@dataclass(frozen=True, slots=True)
class MisfitFinder:
    """Finds the field that does not fit. `schema` are the columns as read, in the JSON form of Spark's types.

    `csv` are the rules of CSV; without them, records are JSON, whose columns `quoted` take numbers in quotes,
    too. Records of the objects `unordered` (indexes) have their fields in another order than the columns.
    """

    schema: Mapping[str, Any] = field(default_factory=dict)
    csv: CsvRules | None = None
    unordered: frozenset[int] = frozenset()
    quoted: frozenset[str] = frozenset()

    def find(self, object_index: int, text: str) -> Misfit | None:
        """Return what is wrong with a record of an object; None if that is unknown."""
        if not self.schema:
            return None
        if self.csv is None:
            return find_json_misfit(text, self.schema, self.quoted)
        if object_index in self.unordered:
            return None
        columns = [(column["name"], _name_type(column["type"])) for column in self.schema["fields"]]
        return find_csv_misfit(text, columns, self.csv)


def _name_type(kind: Any) -> str:
    return kind if isinstance(kind, str) else str(kind["type"])
