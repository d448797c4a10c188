"""Parses documents into sections. Parsers are unsafe on malicious input: run them in `sandbox`."""
