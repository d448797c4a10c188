"""Checks the credentials, bucket and queue of a source: that they exist and lose no events."""
