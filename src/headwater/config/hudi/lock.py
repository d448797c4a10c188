"""`lock:` isolates several writers of one table during commits."""

from collections.abc import Iterator, Mapping
from typing import Literal, get_args
from urllib.parse import urlsplit

from pydantic import Field, model_validator

from headwater.config.section import Section, SectionError

LockProvider = Literal["in_process", "file_system", "zookeeper", "hive_metastore", "dynamodb", "storage"]

_CLIENT = "org.apache.hudi.client.transaction.lock"
LOCK_CLASSES: Mapping[LockProvider, str] = {
    "in_process": f"{_CLIENT}.InProcessLockProvider",
    "file_system": f"{_CLIENT}.FileSystemBasedLockProvider",
    "zookeeper": f"{_CLIENT}.ZookeeperBasedLockProvider",
    "hive_metastore": "org.apache.hudi.hive.transaction.lock.HiveMetastoreBasedLockProvider",
    "dynamodb": "org.apache.hudi.aws.transaction.lock.DynamoDBBasedLockProvider",
    "storage": f"{_CLIENT}.StorageBasedLockProvider",
}
"""Hudi's class of each provider."""

_NEEDED: Mapping[str, tuple[str, ...]] = {
    "zookeeper": ("address",),
    "hive_metastore": ("address", "database"),
    "dynamodb": ("table", "region"),
}
_ALLOWED: Mapping[str, tuple[str, ...]] = {
    "in_process": (),
    "file_system": ("folder", "expire_minutes"),
    "zookeeper": ("address", "node"),
    "hive_metastore": ("address", "database"),
    "dynamodb": ("table", "region", "endpoint"),
    "storage": (),
}
_WORDS = {
    "address": {
        "zookeeper": "the servers, such as `zk1:2181,zk2:2181`",
        "hive_metastore": "its URI, such as `thrift://metastore:9083`",
    },
    "database": {"hive_metastore": "the database of the locks"},
    "table": {"dynamodb": "the DynamoDB table of the locks"},
    "region": {"dynamodb": "the region of that table"},
}


class LockConfig(Section):
    """The lock that allows several processes to write the tables. Each commit checks for conflicts with
    concurrent commits. All writers of a table must use the same lock."""

    provider: LockProvider = Field(
        description="`in_process`: threads of one process only. `file_system`: a file in the lake, for a "
        "folder, HDFS or Azure. `zookeeper`, `hive_metastore` and `dynamodb`: a server. `storage`: an object "
        "in the lake, for S3 and GCS. `storage` and `dynamodb` require an additional jar."
    )
    folder: str | None = Field(
        None, description="Folder of the lock files (file_system). Default: each table's `.hoodie`."
    )
    expire_minutes: int = Field(
        5,
        ge=1,
        description="Age at which a lock counts as left by a killed process (file_system). Must exceed the "
        "duration of any commit.",
    )
    address: str | None = Field(
        None,
        description="Address of the lock server: `host:port`, comma-separated if several (zookeeper); "
        "`thrift://host:port` (hive_metastore).",
    )
    node: str = Field("/headwater", pattern=r"^/.*[^/]$", description="Base path of the locks (zookeeper).")
    database: str | None = Field(None, description="Database of the locks (hive_metastore).")
    table: str | None = Field(None, description="DynamoDB table of the locks; created if missing.")
    region: str | None = Field(None, description="Region of the DynamoDB table (dynamodb).")
    endpoint: str | None = Field(None, description="Endpoint of a DynamoDB-compatible service (dynamodb).")
    early_conflict_detection: bool = Field(
        False,
        description="Detect conflicts during writes, not only at the commit: less work is lost, at the cost "
        "of a listing per file.",
    )

    @property
    def spans_processes(self) -> bool:
        """True if it isolates processes, not only threads."""
        return self.provider != "in_process"

    def list_servers(self) -> list[tuple[str, int]]:
        """Return host and port of each server in `address`; empty without a server."""
        return [] if self.address is None else [_parse_server(text) for text in self.address.split(",")]

    @model_validator(mode="after")
    def _check(self) -> "LockConfig":
        problems = [*self._iter_problems()]
        if problems:
            raise SectionError(problems)
        return self

    def _iter_problems(self) -> Iterator[tuple[tuple[str, ...], str]]:
        for name in _NEEDED.get(self.provider, ()):
            if getattr(self, name) is None:
                yield (name,), f"missing; `provider: {self.provider}` requires {_WORDS[name][self.provider]}"
        allowed = {"provider", "early_conflict_detection", *_ALLOWED[self.provider]}
        for name in sorted(self.model_fields_set - allowed):
            have = ", ".join(p for p in get_args(LockProvider) if name in _ALLOWED[p])
            yield (name,), f"not applicable with `provider: {self.provider}`; applies to: {have}"
        if self.address is not None and self.provider in ("zookeeper", "hive_metastore"):
            try:
                servers = self.list_servers()
            except ValueError:
                servers = []
            is_uri = "://" in self.address
            if not servers or is_uri != (self.provider == "hive_metastore"):
                yield ("address",), f"{self.address!r} is invalid; specify {_WORDS['address'][self.provider]}"


def _parse_server(text: str) -> tuple[str, int]:
    parts = urlsplit(text.strip() if "://" in text else f"//{text.strip()}")
    if not parts.hostname or parts.port is None:
        raise ValueError(f"{text!r} has no port")
    return parts.hostname, parts.port
