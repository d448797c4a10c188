"""Schema evolution: finds, merges and records the columns of objects, and rescues values that do not fit."""
