"""Simulates the whole pipeline in one thread without Spark: real decisions, injected faults."""
