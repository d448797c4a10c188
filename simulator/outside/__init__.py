"""The environment of headwater: a clock, a bucket, a channel, a queue, Hudi tables, and crashes."""
