"""Hudi options for the lake's lock, and for writers that run concurrently."""

from collections.abc import Mapping

from headwater.config.hudi.lock import LOCK_CLASSES, LockConfig

_LOCK = "hoodie.write.lock"
_PROVIDER = f"{_LOCK}.provider"
_SESSION_PREFIX = "spark."
_MODE = "hoodie.write.concurrency.mode"
_POLICY = "hoodie.clean.failed.writes.policy"
_OLDER_POLICY = "hoodie.cleaner.policy.failed.writes"
_ATOMIC_CREATION = "hoodie.fs.atomic_creation.support"
_FOLDER = f"{_LOCK}.filesystem.path"
_HIVE_DATABASE = f"{_LOCK}.hivemetastore.database"
_PAUSE_MS = 1_000


def render_lock(lock: LockConfig) -> dict[str, str]:
    """Return the options for all writers of all tables; `read_session_lock` adds those of a table."""
    options = {
        _MODE: "OPTIMISTIC_CONCURRENCY_CONTROL",
        # Keep uncommitted files of other writers, which may still be active.
        _POLICY: "LAZY",
        _PROVIDER: LOCK_CLASSES[lock.provider],
        f"{_LOCK}.client.wait_time_ms_between_retry": str(_PAUSE_MS),
        # Retry for longer than a killed process's lock takes to expire.
        f"{_LOCK}.client.num_retries": str((lock.expire_minutes + 1) * 60_000 // _PAUSE_MS),
    }
    if lock.early_conflict_detection:
        options["hoodie.write.concurrency.early.conflict.detection.enable"] = "true"
    return options | _render_provider(lock)


def _render_provider(lock: LockConfig) -> dict[str, str]:
    given: dict[str, str | None] = {}
    if lock.provider == "file_system":
        given = {_FOLDER: lock.folder, f"{_LOCK}.filesystem.expire": str(lock.expire_minutes)}
        # Azure rejects the creation of a file that exists, which Hudi does not know.
        given[_ATOMIC_CREATION] = "abfs,abfss"
    elif lock.provider == "zookeeper":
        port = str(lock.list_servers()[0][1])
        zookeeper = f"{_LOCK}.zookeeper"
        given = {f"{zookeeper}.url": lock.address, f"{zookeeper}.port": port}
        given[f"{zookeeper}.base_path"] = lock.node
    elif lock.provider == "hive_metastore":
        given = {f"{_LOCK}.hivemetastore.uris": lock.address, _HIVE_DATABASE: lock.database}
    elif lock.provider == "dynamodb":
        dynamodb = f"{_LOCK}.dynamodb"
        given = {f"{dynamodb}.table": lock.table, f"{dynamodb}.region": lock.region}
        given[f"{dynamodb}.endpoint_url"] = lock.endpoint
    return {key: value for key, value in given.items() if value is not None}


def to_session_settings(lock: LockConfig | None) -> dict[str, str]:
    """Return the options as settings of a Spark session, so that every writer in it has them."""
    return {} if lock is None else {f"{_SESSION_PREFIX}{k}": v for k, v in render_lock(lock).items()}


def read_session_lock(settings: Mapping[str, str], table: str) -> dict[str, str]:
    """Return the lock options of one table from a session's settings; empty without a lock."""
    if f"{_SESSION_PREFIX}{_PROVIDER}" not in settings:
        return {}
    start = len(_SESSION_PREFIX)
    options = {
        key[start:]: value
        for key, value in settings.items()
        if key.startswith(f"{_SESSION_PREFIX}hoodie.write.") or key[start:] in (_POLICY, _ATOMIC_CREATION)
    }
    # Each table has its own lock. Other providers derive its name from the table themselves.
    if _FOLDER in options:
        options[_FOLDER] = f"{options[_FOLDER].rstrip('/')}/{table}"
    if _HIVE_DATABASE in options:
        options[f"{_LOCK}.hivemetastore.table"] = table
    return options


def keeps_incomplete_writes(options: Mapping[str, str]) -> bool:
    """True if a write with these options leaves incomplete writes of others in the table.

    They may still be active. A single writer rolls them back before it begins.
    """
    policy = options.get(_POLICY, options.get(_OLDER_POLICY, "EAGER"))
    return options.get(_MODE, "SINGLE_WRITER").upper() != "SINGLE_WRITER" or policy.upper() != "EAGER"
