"""Commands about what lies between bucket and queue."""
