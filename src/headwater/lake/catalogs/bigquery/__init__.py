"""BigQuery: an external table over a manifest, a file that names the newest files of a table."""
