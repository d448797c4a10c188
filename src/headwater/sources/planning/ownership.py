"""Determines the owner of a resource by its tags or labels, never by its name. Pure."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from headwater.sources.planning.names import digest

Standing = Literal["ours", "another's", "untagged"]


@dataclass(frozen=True, slots=True)
class TagStyle:
    """How resources of a vendor are tagged: its word for a tag, and the names and values that it allows."""

    word: Literal["tag", "label"]
    owner: str
    lake: str
    source: str
    unsafe: re.Pattern[str]
    max_value: int
    has_capitals: bool = True

    def fit(self, value: str) -> str:
        """Return the value with the characters and the length that the vendor allows."""
        spelled = value if self.has_capitals else value.lower()
        return self.unsafe.sub("_", spelled)[: self.max_value]


@dataclass(frozen=True, slots=True)
class Owner:
    """The headwater of one lake and one of its sources; `id` is eight hex digits of the lake.

    `siblings` are the addresses of the lake's other sources, whose resources are no orphans.
    """

    id: str
    lake: str
    source: str
    style: TagStyle
    siblings: frozenset[str] = frozenset()

    @classmethod
    def of(cls, lake: str, source: str, style: TagStyle, siblings: Iterable[str] = ()) -> "Owner":
        """Return the owner of resources for a lake and the address of its source."""
        return cls(digest(lake.rstrip("/")), lake, source, style, frozenset(siblings))

    @property
    def source_id(self) -> str:
        """Return eight hex digits of the source."""
        return digest(self.source)

    @property
    def rule_start(self) -> str:
        """Return the prefix of the ids of this owner's notification rules, for any source."""
        return f"headwater-{self.id}-"

    @property
    def rule_id(self) -> str:
        """Return the id of the notification rule of this owner and source."""
        return f"{self.rule_start}{self.source_id}"

    def is_former_rule(self, rule_id: str) -> bool:
        """True if a notification rule is of this lake, but of none of its sources."""
        kept = {self.rule_id, *(f"{self.rule_start}{digest(source)}" for source in self.siblings)}
        return rule_id.startswith(self.rule_start) and rule_id not in kept

    def is_orphan_candidate(self, tags: Mapping[str, str]) -> bool:
        """True if a resource with these tags is of this lake, but of none of its other sources."""
        is_of_sibling = tags.get(self.style.source) in {self.style.fit(source) for source in self.siblings}
        return self.judge(tags) == "ours" and not is_of_sibling

    def build_tags(self, further: Mapping[str, str]) -> dict[str, str]:
        """Return the tags of this owner's resources; `further` are the user's."""
        style = self.style
        own = {style.owner: self.id, style.lake: self.lake, style.source: self.source}
        return {**{name: style.fit(value) for name, value in own.items()}, **further}

    def judge(self, tags: Mapping[str, str]) -> Standing:
        """Determine the owner of a resource with these tags."""
        found = tags.get(self.style.owner)
        if found is None:
            return "untagged"
        return "ours" if found == self.id else "another's"
