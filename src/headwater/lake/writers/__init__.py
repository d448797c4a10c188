"""Tracks which processes write which tables of a lake: visible from any machine, correct after a SIGKILL."""
