"""Where tables lie under a lake. The only place that knows."""

OWN_FOLDER = "_headwater"


def events_path(lake: str) -> str:
    """The events table."""
    return _join(lake, OWN_FOLDER, "events")


def quarantine_path(lake: str) -> str:
    """The quarantine table."""
    return _join(lake, OWN_FOLDER, "quarantine")


def ledger_path(lake: str) -> str:
    """The ledger."""
    return _join(lake, OWN_FOLDER, "ledger")


def reconciles_path(lake: str) -> str:
    """What each reconcile found."""
    return _join(lake, OWN_FOLDER, "reconciles")


def chunks_path(lake: str) -> str:
    """The chunks that the index is made of."""
    return _join(lake, OWN_FOLDER, "chunks")


def trial_path(lake: str, token: str) -> str:
    """A table that `doctor` writes and removes."""
    return _join(lake, OWN_FOLDER, f"doctor-{token}")


def table_path(lake: str, name: str) -> str:
    """A data table."""
    return _join(lake, name)


def _join(lake: str, *parts: str) -> str:
    return "/".join((lake.rstrip("/"), *parts))
