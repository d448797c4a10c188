"""The serde property with which a catalog entry selects the rows of a merge-on-read table for Spark."""

QUERY_AS_READ_OPTIMIZED = "hoodie.query.as.ro.table"
"""`true` for base files only."""
