"""The lake's lock as Hudi's options: a class, its keys, and what writers have to do that are not alone."""

from collections.abc import Mapping

from headwater.config.hudi.lock import LockConfig, LockProvider

_CLIENT = "org.apache.hudi.client.transaction.lock"
LOCK_CLASSES: Mapping[LockProvider, str] = {
    "in_process": f"{_CLIENT}.InProcessLockProvider",
    "file_system": f"{_CLIENT}.FileSystemBasedLockProvider",
    "zookeeper": f"{_CLIENT}.ZookeeperBasedLockProvider",
    "hive_metastore": "org.apache.hudi.hive.transaction.lock.HiveMetastoreBasedLockProvider",
    "dynamodb": "org.apache.hudi.aws.transaction.lock.DynamoDBBasedLockProvider",
    "storage": f"{_CLIENT}.StorageBasedLockProvider",
}

_LOCK = "hoodie.write.lock"
_PROVIDER = f"{_LOCK}.provider"
_SESSION_PREFIX = "spark."
_MODE = "hoodie.write.concurrency.mode"
_FOLDER = f"{_LOCK}.filesystem.path"
_HIVE_DATABASE = f"{_LOCK}.hivemetastore.database"
_PAUSE_MS = 1_000


def render_lock(lock: LockConfig) -> dict[str, str]:
    """What every writer of every table is given; see `read_session_lock` for the rest."""
    options = {
        _MODE: "OPTIMISTIC_CONCURRENCY_CONTROL",
        # What another writer has not completed yet is not litter.
        "hoodie.clean.failed.writes.policy": "LAZY",
        _PROVIDER: LOCK_CLASSES[lock.provider],
        f"{_LOCK}.client.wait_time_ms_between_retry": str(_PAUSE_MS),
        # Longer than a lock can lie there that a killed process has left.
        f"{_LOCK}.client.num_retries": str((lock.expire_minutes + 1) * 60_000 // _PAUSE_MS),
    }
    if lock.early_conflict_detection:
        options["hoodie.write.concurrency.early.conflict.detection.enable"] = "true"
    return options | _render_provider(lock)


def _render_provider(lock: LockConfig) -> dict[str, str]:
    given: dict[str, str | None] = {}
    if lock.provider == "file_system":
        given = {_FOLDER: lock.folder, f"{_LOCK}.filesystem.expire": str(lock.expire_minutes)}
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
    """As settings of a Spark session: so every writer in it has them."""
    return {} if lock is None else {f"{_SESSION_PREFIX}{k}": v for k, v in render_lock(lock).items()}


def read_session_lock(settings: Mapping[str, str], table: str) -> dict[str, str]:
    """The lock's options for one table, from the settings of a session; none where it has no lock."""
    if f"{_SESSION_PREFIX}{_PROVIDER}" not in settings:
        return {}
    start = len(_SESSION_PREFIX)
    options = {
        key[start:]: value
        for key, value in settings.items()
        if key.startswith(f"{_SESSION_PREFIX}hoodie.write.")
        or key == f"{_SESSION_PREFIX}hoodie.clean.failed.writes.policy"
    }
    # Each table has a lock of its own. Other providers call it after the table by themselves.
    if _FOLDER in options:
        options[_FOLDER] = f"{options[_FOLDER].rstrip('/')}/{table}"
    if _HIVE_DATABASE in options:
        options[f"{_LOCK}.hivemetastore.table"] = table
    return options
