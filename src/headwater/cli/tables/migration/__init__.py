"""`headwater table NAME bootstrap | upgrade | downgrade`."""
