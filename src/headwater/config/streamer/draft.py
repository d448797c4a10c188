"""`Draft`: the configuration as it grows, with the origin of each value and all that is left out."""

from dataclasses import dataclass, field

from headwater.config.problems.problem import Data, KeyPath, format_path, value_at
from headwater.observability.redaction import REDACTED, holds_secret, is_secret_name


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A setting of HoodieStreamer without an equivalent, as it is written in `origin`, and the reason."""

    origin: str
    setting: str
    reason: str


@dataclass(slots=True)
class Draft:
    """`origins` are the settings that gave the values, by path; `notes` say what is left to do."""

    data: Data = field(default_factory=dict)
    origins: dict[KeyPath, str] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def put(self, path: KeyPath, value: object, origin: str = "") -> str:
        """Set a value; return why it cannot be set if another setting has set another one, else nothing."""
        known = value_at(self.data, path)
        if known is not None and known != value:
            return f"{format_path(path)} is {known} already"
        self.get_section(path[:-1])[str(path[-1])] = value
        if origin and known is None:
            self.origins[path] = origin
        return ""

    def get(self, path: KeyPath) -> object:
        """Return the value at a path; None without any."""
        return value_at(self.data, path)

    def get_section(self, path: KeyPath) -> Data:
        """Return the section at a path, a new one if there is none."""
        section: Data = self.data
        for part in path:
            below = section.setdefault(str(part), {})
            assert isinstance(below, dict)  # noqa: S101 - sections are never values
            section = below
        return section

    def leave_out(self, origin: str, setting: str, value: str, reason: str) -> None:
        """Note a setting that is not converted; a secret is not shown."""
        shown = REDACTED if is_secret_name(setting) or holds_secret(value) else value
        self.left_out.append(LeftOut(origin, f"{setting}={shown}", reason))

    def note(self, sentence: str) -> None:
        """Note what is left to do, once."""
        if sentence not in self.notes:
            self.notes.append(sentence)
