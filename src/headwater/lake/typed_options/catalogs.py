"""The one key by which an entry of a catalog tells Spark which rows of a merge-on-read table are meant."""

QUERY_AS_READ_OPTIMIZED = "hoodie.query.as.ro.table"
"""A serde property: `true` for base files only."""
