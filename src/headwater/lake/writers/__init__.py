"""Tracks which processes write which tables of a lake: visible from any machine, and correct after a
SIGKILL."""
