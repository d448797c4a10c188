"""Judges the responses of AWS about a bucket and its queue: decisions only, no requests."""
