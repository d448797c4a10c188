"""Table services beside a run, and who may write what at the same time."""
