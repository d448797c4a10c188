"""`headwater adopt`: continues tables of HoodieStreamer from their checkpoints.

`checkpoints` and `fitting` are pure; `old_events` says what is captured from the old events table, `topics`
what from Kafka; `adoption` plans for all tables, then writes.
"""
