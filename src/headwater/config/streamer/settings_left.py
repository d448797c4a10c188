"""`SettingsLeft`: the settings of one job that are not converted yet."""

import re
from collections.abc import Mapping

from headwater.config.problems.problem import KeyPath
from headwater.config.streamer.draft import Draft
from headwater.config.streamer.jobs import StreamerJob
from headwater.config.streamer.rules import PREFIXES, Read
from headwater.observability.redaction import holds_secret, is_secret_name

_VARIABLE = re.compile(r"\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*\})")


class SettingsLeft:
    """Hands out each setting once; what is left in the end has no equivalent."""

    def __init__(self, job: StreamerJob, draft: Draft) -> None:
        self.origin = job.origin.name
        self.draft = draft
        self.flags = dict(job.flags)
        self.spark = dict(job.spark)
        texts = (*job.flags.values(), *job.properties.values(), *job.spark.values())
        for variable in sorted({found for text in texts for found in _VARIABLE.findall(text)}):
            draft.note(f"replace the shell's {variable} by its value")
        self.properties: dict[str, str] = {}
        for key, value in job.properties.items():
            if is_secret_name(key) or holds_secret(value):
                draft.leave_out(self.origin, key, value, "a secret: set it in the environment")
            else:
                self.properties[key] = value

    def take_flag(self, name: str) -> str | None:
        """Return the value of a flag."""
        return self.flags.pop(name, None)

    def take(self, *keys: str) -> tuple[str, str] | None:
        """Return the first of these properties that is set, with its key; leave out others that differ."""
        found = [(key, self.properties.pop(key)) for key in self._spell(keys) if key in self.properties]
        for key, text in found[1:]:
            if text != found[0][1]:
                self.leave_out(key, text, f"{found[0][0]} takes precedence")
        return found[0] if found else None

    def take_text(self, *keys: str) -> str:
        """Return the value of the first of these properties that is set; empty without any."""
        found = self.take(*keys)
        return found[1] if found else ""

    def put(self, path: KeyPath, value: object, setting: str, text: str) -> None:
        """Set a value, or note why not."""
        if problem := self.draft.put(path, value, setting):
            self.draft.leave_out(self.origin, setting, text, problem)

    def convert(self, rules: Mapping[str, tuple[str, Read]], table: KeyPath) -> None:
        """Convert all properties that the rules name, except for keys that are already converted."""
        for key in list(self.properties):
            target, read = rules.get(strip_prefix(key), ("", str))
            if not target:
                continue
            text = self.properties.pop(key)
            path = tuple(target.split("."))
            try:
                self.put(path if path[0] == "source" else (*table, *path), read(text), key, text)
            except (TypeError, ValueError):
                self.draft.leave_out(self.origin, key, text, "the value cannot be read")

    def leave_out(self, setting: str, text: str, reason: str) -> None:
        """Note a setting without an equivalent."""
        self.draft.leave_out(self.origin, setting, text, reason)

    @staticmethod
    def _spell(keys: tuple[str, ...]) -> list[str]:
        """Return the keys with their prefixes: those of HoodieStreamer have an older one, too."""
        return [
            spelled
            for key in keys
            for spelled in ([key] if key.startswith("hoodie.") else [prefix + key for prefix in PREFIXES])
        ]


def strip_prefix(key: str) -> str:
    """Return a key of HoodieStreamer without its prefix, any other key unchanged."""
    return next((key.removeprefix(prefix) for prefix in PREFIXES if key.startswith(prefix)), key)


def find_reason(reasons: Mapping[str, str], key: str) -> str:
    """Return the reason of the longest beginning of the key; empty without any."""
    found = max((begin for begin in reasons if key.startswith(begin)), key=len, default="")
    return reasons[found] if found else ""
