"""Optional packages: which extra brings them, and which section of a configuration needs it."""
