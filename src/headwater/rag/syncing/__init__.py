"""Chunks table -> index, without a JVM."""
