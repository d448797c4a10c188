"""The error for a broken invariant."""


class InvariantBrokenError(Exception):
    """Raised when an invariant is broken; `code` is that of docs/reference/simulator.md."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail
