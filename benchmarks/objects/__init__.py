"""Benchmarks of what mirrors, ledger and proof add."""
