"""Names locations as OpenLineage datasets, so that other tools mean the same dataset. Pure."""

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

# These stores have keys or topics, and no folders: a name starts without a slash.
_STORES = frozenset({"s3", "gs", "abfss", "abfs", "wasbs", "wasb", "kafka"})
_SAME = {"s3a": "s3", "s3n": "s3", "gcs": "gs"}


@dataclass(frozen=True, slots=True)
class DatasetName:
    """A dataset name that follows OpenLineage's naming rules, and so is the same in every tool."""

    namespace: str
    name: str


def name_dataset(path_or_url: str) -> DatasetName:
    """Return the dataset of a folder or a URL such as `s3a://bucket/folder`; ignores a trailing slash."""
    if "://" not in path_or_url:
        folder = path_or_url.removeprefix("file:") if path_or_url.startswith("file:/") else path_or_url
        return DatasetName("file", str(Path(folder).absolute()))
    parts = urlsplit(path_or_url)
    scheme = _SAME.get(parts.scheme, parts.scheme)
    if scheme == "file":
        return DatasetName("file", str(Path(parts.path)))
    path = parts.path.strip("/")
    if scheme not in _STORES:
        path = f"/{path}"
    return DatasetName(f"{scheme}://{parts.netloc}", path or "/")
