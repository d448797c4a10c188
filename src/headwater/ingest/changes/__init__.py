"""Change records: the order of the changes of a row, and the deletes that a table remembers."""
