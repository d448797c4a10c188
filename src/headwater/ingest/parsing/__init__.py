"""Parses texts of records to columns with Spark's parsers, and corrects values that these silently change."""
