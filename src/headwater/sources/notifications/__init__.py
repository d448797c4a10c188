"""Code shared by the notification parsers of all senders. Pure."""
