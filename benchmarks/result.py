"""What a benchmark says: one figure of ours, the floor beside it, and whether the goal is met."""

import json
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class BenchmarkResult:
    """`value` and `floor` are in `unit`, from the same run; the goal is for their ratio.

    `broken` names a condition beside the figure that was not met (something was lost, a commit where
    none should be): then the result is not ok, however good the ratio. `note` is a fact that a reader of the
    figure needs.
    """

    name: str
    value: float
    floor: float
    unit: str
    goal: float
    better: Literal["higher", "lower"]
    broken: str = ""
    note: str = ""

    @property
    def ratio(self) -> float:
        """`value / floor`."""
        return self.value / self.floor

    @property
    def ok(self) -> bool:
        """Whether the goal is met."""
        is_met = self.ratio >= self.goal if self.better == "higher" else self.ratio <= self.goal
        return is_met and not self.broken

    def to_json(self) -> str:
        """The result line: one JSON object with name, value, floor, unit, ratio, goal, better, ok, and the
        note if there is one."""
        line: dict[str, object] = {
            "name": self.name,
            "value": round(self.value, 4),
            "floor": round(self.floor, 4),
            "unit": self.unit,
            "ratio": round(self.ratio, 4),
            "goal": self.goal,
            "better": self.better,
            "ok": self.ok,
        }
        return json.dumps(line | ({"note": self.note} if self.note else {}), ensure_ascii=False)
