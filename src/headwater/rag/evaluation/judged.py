"""Judged data: a catalogue, queries, and graded answers. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from headwater.rag.field_value import FieldValue

Grade = Literal["E", "S", "C", "I"]
"""Exact, substitute, complement, irrelevant: the grades of Amazon's ESCI."""

GAINS: Mapping[str, int] = {"E": 100, "S": 10, "C": 1, "I": 0}
"""ESCI's own gains (1, 0.1, 0.01, 0) in whole numbers."""

RELEVANT_GAIN = 10
"""Minimum gain of a product that counts as found for recall and MRR: exact ones and substitutes."""

Split = Literal["tuning", "held-out"]


@dataclass(frozen=True, slots=True)
class JudgedProduct:
    """One row of a catalogue; `fields` are all columns except title and description."""

    product_id: str
    title: str
    description: str
    fields: Mapping[str, FieldValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class JudgedQuery:
    """One query. `kind` groups figures; `split` determines whether settings may be tuned on the query."""

    query_id: str
    text: str
    kind: str = "all"
    split: Split = "held-out"


@dataclass(frozen=True, slots=True)
class JudgedSet:
    """A catalogue and queries, with `gains` by query and product. A product without a gain is irrelevant."""

    products: Sequence[JudgedProduct]
    queries: Sequence[JudgedQuery]
    gains: Mapping[str, Mapping[str, int]]
