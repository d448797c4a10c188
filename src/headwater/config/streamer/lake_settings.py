"""Converts what a job of HoodieStreamer says of its surroundings: catalogs, lock and Spark."""

from collections.abc import Callable
from typing import Any

from headwater.config.hudi.lock import LOCK_CLASSES
from headwater.config.streamer.rules import REASONS_OF_SPARK, SPARK_SETTINGS, read_list
from headwater.config.streamer.settings_left import SettingsLeft

_HIVE = "hoodie.datasource.hive_sync"
_HUDI_PACKAGES = ("org.apache.hudi:hudi-spark", "org.apache.hudi:hudi-utilities")
_LOCK = "hoodie.write.lock"
_BIGQUERY = "hoodie.gcp.bigquery.sync"
_DATAHUB = "hoodie.meta.sync.datahub.emitter.server"
_PROVIDERS = {name.rsplit(".", 1)[-1]: provider for provider, name in LOCK_CLASSES.items()}


def convert_catalogs(left: SettingsLeft, table: str) -> None:
    """Convert the sync tools of one table; tables of one catalog share a section."""
    switches = [left.take_flag("enable-sync"), left.take_flag("enable-hive-sync")]
    switches.append(left.take_text(f"{_HIVE}.enable", "hoodie.datasource.meta.sync.enable"))
    classes = left.take_flag("sync-tool-classes") or left.take_text("hoodie.meta.sync.client.tool.class")
    if "true" not in switches:
        if classes:
            left.leave_out("--sync-tool-classes", classes, "without --enable-sync they do nothing")
        return
    used: set[str] = set()

    def read(key: str, default: str = "") -> str:
        used.update({key} & left.properties.keys())
        return left.properties.get(key, default)

    for name in read_list(classes or "org.apache.hudi.hive.HiveSyncTool"):
        section, missing = _build_catalog(read, name.rsplit(".", 1)[-1])
        if missing:
            left.leave_out("--sync-tool-classes", name, missing)
        else:
            _add_catalog(left, section, table)
    for key in used:
        left.properties.pop(key, None)


def _build_catalog(read: Callable[..., str], tool: str) -> tuple[dict[str, Any], str]:
    """Return the section without its tables, or why there is none."""
    database = read(f"{_HIVE}.database", "default")
    if tool in ("AwsGlueCatalogSyncTool", "AWSGlueCatalogSyncTool"):
        return {"type": "glue", "database": database}, ""
    if tool == "HiveSyncTool":
        address = read(f"{_HIVE}.metastore.uris") or read(f"{_HIVE}.jdbcurl")
        if not address:
            return (
                {},
                "it names no metastore: add `catalogs: [{type: hive, database: D, address: thrift://HOST:9083}]`",
            )
        return {"type": "hive", "database": database, "address": address}, ""
    if tool == "DataHubSyncTool":
        address = read(_DATAHUB)
        return {
            "type": "datahub",
            "database": database,
            "address": address,
        }, "" if address else "it names no server"
    if tool == "BigQuerySyncTool":
        given = {
            "project": read(f"{_BIGQUERY}.project_id"),
            "region": read(f"{_BIGQUERY}.dataset_location"),
        }
        dataset = read(f"{_BIGQUERY}.dataset_name", database)
        return {"type": "bigquery", "database": dataset} | {k: v for k, v in given.items() if v}, ""
    return {}, "allowed are glue, hive, datahub and bigquery"


def _add_catalog(left: SettingsLeft, section: dict[str, Any], table: str) -> None:
    catalogs = left.draft.get(("catalogs",))
    known = list(catalogs) if isinstance(catalogs, list) else []
    same = next((c for c in known if {**c, "tables": None} == {**section, "tables": None}), None)
    if same is not None:
        same["tables"].append(table)
    else:
        left.draft.data["catalogs"] = [*known, {**section, "tables": [table]}]


def convert_lock(left: SettingsLeft) -> None:
    """Convert the lock, which all tables share."""
    provider = left.take(f"{_LOCK}.provider")
    if provider is None:
        return
    name = _PROVIDERS.get(provider[1].rsplit(".", 1)[-1])
    if name is None:
        left.leave_out(*provider, f"allowed are {', '.join(_PROVIDERS.values())}")
        return
    section: dict[str, Any] = {"provider": name}
    if name == "zookeeper":
        hosts = read_list(left.take_text(f"{_LOCK}.zookeeper.url"))
        port = left.take_text(f"{_LOCK}.zookeeper.port") or "2181"
        section["address"] = ",".join(host if ":" in host else f"{host}:{port}" for host in hosts)
        section |= {"node": node} if (node := left.take_text(f"{_LOCK}.zookeeper.base_path")) else {}
    elif name == "hive_metastore":
        section["address"] = left.take_text(f"{_LOCK}.hivemetastore.uris")
        section["database"] = left.take_text(f"{_LOCK}.hivemetastore.database")
    elif name == "dynamodb":
        section["table"] = left.take_text(f"{_LOCK}.dynamodb.table")
        section["region"] = left.take_text(f"{_LOCK}.dynamodb.region")
    if not all(section.values()):
        absent = ", ".join(key for key, value in section.items() if not value)
        left.leave_out(*provider, f"it lacks what `lock` requires: {absent}")
        return
    left.put(("lock",), section, *provider)


def convert_spark(left: SettingsLeft) -> None:
    """Convert the options of `spark-submit`. Jars of Hudi and settings that it needs come with headwater."""
    master = left.take_flag("spark-master") or left.spark.pop("master", "")
    if master:
        left.put(("spark", "master"), master, "--master", master)
    memory = left.spark.pop("driver-memory", "") or left.spark.pop("spark.driver.memory", "")
    if memory:
        left.put(("spark", "driver_memory"), memory, "--driver-memory", memory)
    wanted = [
        name for name in read_list(left.spark.pop("packages", "")) if not name.startswith(_HUDI_PACKAGES)
    ]
    if wanted:
        left.put(("spark", "packages"), wanted, "--packages", ",".join(wanted))
    jars = [jar for jar in read_list(left.spark.pop("jars", "")) if "hudi-" not in jar]
    if jars:
        left.put(("spark", "config", "spark.jars"), ",".join(jars), "--jars", ",".join(jars))
    for name, text in left.spark.items():
        key = SPARK_SETTINGS.get(name, name)
        if name in REASONS_OF_SPARK:
            if REASONS_OF_SPARK[name]:
                left.leave_out(f"--{name}", text, REASONS_OF_SPARK[name])
        elif key.startswith("spark."):
            left.put(("spark", "config", key), text, name if name == key else f"--{name}", text)
        else:
            left.leave_out(f"--{name}", text, "no equivalent; see spark.config")
    left.spark.clear()
