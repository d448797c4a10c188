"""Simulates the whole pipeline in one thread without Spark: real decisions in a world with injected faults.
"""
