"""Table services of one table, run now and in this process, beside no other writer of it."""
