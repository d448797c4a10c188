"""What headwater meets: a clock, a bucket, a channel, a queue, Hudi tables, and sudden death."""
