"""`format_table`: how a notebook shows a report."""

from collections.abc import Iterable, Sequence
from html import escape

_CHARACTERS = 200


def format_table(columns: Sequence[str], rows: Iterable[Sequence[object]], note: str = "") -> str:
    """Format an HTML table; values are escaped and shortened."""
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join(f"<tr>{''.join(f'<td>{_format(cell)}</td>' for cell in row)}</tr>" for row in rows)
    foot = f"<p>{escape(note)}</p>" if note else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{foot}"


def _format(cell: object) -> str:
    if cell is None:
        return ""
    text = str(cell)
    return escape(text if len(text) <= _CHARACTERS else f"{text[:_CHARACTERS]}…")
