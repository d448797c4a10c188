"""Find the objects and records because of which a batch cannot be written."""
