"""Hudi's procedures (`CALL`): which read, which run under a lease, what replaces the others. Pure."""

from collections.abc import Mapping

from headwater.errors import UsageError

_READING = frozenset(
    {
        "help",
        "commits_compare",
        "copy_to_temp_view",
        "stats_file_sizes",
        "stats_wa",
        "validate_audit_lock",
        "validate_metadata_table_files",
    }
)
_READING_PREFIX = "show_"

CHANGING: Mapping[str, str] = {
    "archive_commits": "archive",
    "create_savepoint": "savepoint",
    "delete_savepoint": "savepoint",
    "run_clean": "clean",
    "run_clustering": "cluster",
    "run_compaction": "compact",
}
"""Procedures that change a table, and the command whose lease they take."""

# These commands also restore or keep what Hudi does not know: checkpoints, indexes and the ledger.
_REPLACED: Mapping[str, str] = {
    "create_metadata_table": "headwater table NAME metadata rebuild",
    "delete_metadata_table": "`metadata_table: false` in the table's configuration",
    "downgrade_table": "headwater table NAME downgrade",
    "drop_partition": "headwater table NAME delete --partition PATH",
    "hive_sync": "headwater sync",
    "init_metadata_table": "headwater table NAME metadata rebuild",
    "rollback_to_instant": "headwater table NAME rollback",
    "rollback_to_savepoint": "headwater table NAME restore",
    "run_bootstrap": "headwater table NAME bootstrap",
    "run_ttl": "headwater table NAME expire",
    "truncate_table": "DELETE FROM",
    "upgrade_table": "headwater table NAME upgrade",
}


def is_reading(name: str) -> bool:
    """True for a procedure that changes no table."""
    return name in _READING or name.startswith(_READING_PREFIX)


def check_procedure(name: str) -> None:
    """Raise `UsageError` for a procedure that is neither read-only nor run under a lease."""
    if is_reading(name) or name in CHANGING:
        return
    if name in _REPLACED:
        raise UsageError(f"SQL: CALL {name} is not allowed", hint=f"use {_REPLACED[name]}")
    allowed = ", ".join(CHANGING)
    raise UsageError(f"SQL: CALL {name} is not allowed", hint=f"allowed: show_..., {allowed}")
