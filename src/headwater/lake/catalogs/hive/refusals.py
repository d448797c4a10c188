"""Hints for the errors that Hive returns."""


def find_hint(said: str, database: str, *, is_without_database: bool) -> str:
    """Return the hint for an error message of Hive."""
    if is_without_database:
        return f"create the database {database}, or set `create_database: true`"
    if "Cannot find class 'org.apache.hudi" in said:
        return (
            "put hudi-hadoop-mr-bundle into Hive's auxlib folder, as for any Hudi table, and restart Hive: "
            "HiveServer2 rejects tables whose files it cannot read"
        )
    if "incompatible" in said:
        return (
            "set hive.metastore.disallow.incompatible.col.type.changes=false in the metastore, or drop the "
            "table from the catalog: the next sync re-creates it"
        )
    return "Hive's message names the reason; its log has the details"
