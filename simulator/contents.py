"""Keys and contents of episodes: unusual names; objects that are empty, unreadable, partly bad, or equal."""

KEYS = ("a b/1+2%41.txt", "ä/#q?.txt", "plain.txt", "..//x\\\"'&=.txt")
_EMPTY = b""
_NO_RECORDS = b"\n\n"
_UNREADABLE = b"\xff\xfe\x00"


def build_content(number: int) -> bytes:
    """Returns one of a few contents, so that equal contents recur; most have one to three good rows."""
    kind = number % 12
    if kind == 9:
        return _EMPTY
    if kind == 10:
        return _NO_RECORDS
    if kind == 11:
        return _UNREADABLE
    rows = [f"row {kind}.{at}" for at in range(1 + kind % 3)]
    if kind == 8:
        rows.append("!bad")
    return "\n".join(rows).encode()


def list_rows(data: bytes) -> tuple[str, ...]:
    """Lists a content's good rows, which a table must hold, without the product's parsers."""
    if data.startswith(_UNREADABLE[:1]):
        return ()
    return tuple(line for line in data.decode().split("\n") if line and not line.startswith("!"))


def is_unreadable(data: bytes) -> bool:
    return data.startswith(_UNREADABLE[:1])
