"""Table services during a run, and which processes may write concurrently."""
