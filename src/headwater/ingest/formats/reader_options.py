"""Options of Spark's readers, with Spark's rules: names in any case, flags as text."""

from collections.abc import Mapping

from headwater.errors import ConfigError

_DELIMITER_ESCAPES = {
    "\\t": "\t",
    "\\n": "\n",
    "\\r": "\r",
    "\\b": "\b",
    "\\f": "\f",
    '\\"': '"',
    "\\'": "'",
    "\\\\": "\\",
}


class ReaderOptions:
    """Options of one table's reader."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = {name.lower(): str(value) for name, value in options.items()}

    def replace(self, **options: str) -> "ReaderOptions":
        """Return the options with other values."""
        return ReaderOptions({**self._options, **{name.lower(): value for name, value in options.items()}})

    def text(self, *names: str, default: str = "") -> str:
        """Return the value of the first of `names` that is set."""
        return next((self._options[n.lower()] for n in names if n.lower() in self._options), default)

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Return true or false. Raises ConfigError for any other value."""
        value = self._options.get(name.lower(), str(default)).lower()
        if value not in ("true", "false"):
            raise ConfigError(f"reader option {name} is {value!r}", hint="set it to true or false")
        return value == "true"

    def separator(self, *names: str, default: str) -> str:
        """Return a delimiter or line end; unescapes `\\t` and the like as Spark does."""
        value = self.text(*names) or default
        for escape, meaning in _DELIMITER_ESCAPES.items():
            value = value.replace(escape, meaning) if len(value) > 1 else value
        return value
