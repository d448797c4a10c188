"""What is wrong in a configuration, and how it is told."""
