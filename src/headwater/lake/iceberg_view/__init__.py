"""An Iceberg view of a Hudi table: Iceberg metadata over the same Parquet files, written without a JVM."""
