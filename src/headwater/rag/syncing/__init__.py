"""Syncs the chunks table to an index, without a JVM."""
