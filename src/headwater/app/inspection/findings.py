"""`Findings`: what an inspection learns of one table, until it becomes a proposal."""

from dataclasses import dataclass, field

from headwater.config.file_format import FileFormat


@dataclass(slots=True)
class Findings:
    """The format and the reader's options; sentences on what is uncertain, by the key that they concern."""

    format: FileFormat
    options: dict[str, str] = field(default_factory=dict)
    checks: dict[str, str] = field(default_factory=dict)

    def set_option(self, name: str, value: str, check: str = "") -> None:
        """Set a reader option, and say what is uncertain about it."""
        self.options[name] = value
        if check:
            self.check(f"options.{name}", check)

    def check(self, key: str, sentence: str) -> None:
        """Add a sentence on a key."""
        self.checks[key] = f"{self.checks[key]} {sentence}" if key in self.checks else sentence
