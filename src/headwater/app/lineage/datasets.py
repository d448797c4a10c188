"""What a place is called as a dataset of OpenLineage, so that other tools mean the same one. Pure."""

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

# Of stores that have keys and no folders: a key begins with no slash.
_STORES = frozenset({"s3", "gs", "abfss", "abfs", "wasbs", "wasb"})
_SAME = {"s3a": "s3", "s3n": "s3", "gcs": "gs"}


@dataclass(frozen=True, slots=True)
class DatasetName:
    """The same for every tool that follows OpenLineage's rules of naming."""

    namespace: str
    name: str


def name_dataset(place: str) -> DatasetName:
    """Of a folder, or of a URL such as `s3a://bucket/folder`; a slash at its end makes no difference."""
    if "://" not in place:
        folder = place.removeprefix("file:") if place.startswith("file:/") else place
        return DatasetName("file", str(Path(folder).absolute()))
    parts = urlsplit(place)
    scheme = _SAME.get(parts.scheme, parts.scheme)
    if scheme == "file":
        return DatasetName("file", str(Path(parts.path)))
    path = parts.path.strip("/")
    if scheme not in _STORES:
        path = f"/{path}"
    return DatasetName(f"{scheme}://{parts.netloc}", path or "/")
