"""What is raised when something is not as it must be."""


class InvariantBrokenError(Exception):
    """`code` is that of docs/reference/simulator.md."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail
