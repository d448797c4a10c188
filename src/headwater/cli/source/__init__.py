"""Commands for the resources between bucket and queue."""
