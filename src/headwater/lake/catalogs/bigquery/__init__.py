"""BigQuery: external tables over a manifest, a file that lists the latest files of a table."""
