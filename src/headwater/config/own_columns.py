"""The columns that Hudi and headwater add to those of the data."""


def is_own_column(name: str) -> bool:
    """True if Hudi or headwater adds columns of such names."""
    return name.startswith(("_hoodie_", "_headwater_"))
