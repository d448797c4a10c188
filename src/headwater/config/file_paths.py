"""Resolves paths of files and folders in the configuration to absolute paths."""

from pathlib import Path

from pydantic import ValidationInfo


def resolve_path(path: Path, info: ValidationInfo) -> Path:
    """Expand `~`; resolve a relative path against the folder of its configuration file.

    Raises `ValueError` for a path that is not UTF-8: tables store it.
    """
    try:
        str(path).encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError("the path is not UTF-8; rename the folder, or specify a link to it") from None
    folder = info.context.get("folder") if isinstance(info.context, dict) else None
    path = path.expanduser()
    found = Path(folder, path).absolute() if isinstance(folder, Path) else path
    # Hudi, Hadoop and others treat `a/../b` as a different path than `b`.
    return found.resolve() if ".." in found.parts and found.is_absolute() else found
