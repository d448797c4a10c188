"""Table services for one table, run in this process; no other writer may run concurrently."""
