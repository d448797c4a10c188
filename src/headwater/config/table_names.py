"""Makes names of tables from other names."""

import re

from headwater.config.settings import RESERVED_TABLE_NAMES

_MOST_CHARS = 100


def build_table_name(text: str) -> str:
    """Return an allowed table name that resembles the text."""
    name = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")[:_MOST_CHARS]
    if not name or not name[0].isalpha():
        name = f"t_{name}".rstrip("_")
    return f"{name}_data" if name in RESERVED_TABLE_NAMES else name
