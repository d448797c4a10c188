"""What the parsers of all senders' notifications share. Pure."""
