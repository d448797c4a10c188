"""Commands that maintain a table's partitions, files and metadata table."""
