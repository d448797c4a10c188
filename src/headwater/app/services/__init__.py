"""Table services during a run, and the rules for processes that write concurrently."""
