"""Between reading and writing: a table's `transform` and `checks`, on the records of a batch."""
