"""Compares the files in a table's folder with what its commits wrote; without a JVM."""

from headwater.lake.damage.checking import (
    CorruptFile,
    FileCheck,
    build_corruption_error,
    check_files,
    compare_files,
    ensure_intact,
)
from headwater.lake.damage.promises import SkippedBlocks

__all__ = [
    "CorruptFile",
    "FileCheck",
    "SkippedBlocks",
    "build_corruption_error",
    "check_files",
    "compare_files",
    "ensure_intact",
]
