"""Compares the files in a table's folder with what its commits wrote; without a JVM."""

from headwater.lake.damage.checking import Damage, FileCheck, build_damage_error, check_files, ensure_whole
from headwater.lake.damage.promises import SkippedBlocks

__all__ = ["Damage", "FileCheck", "SkippedBlocks", "build_damage_error", "check_files", "ensure_whole"]
