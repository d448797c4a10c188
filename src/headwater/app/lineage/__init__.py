"""What is made from what, as the configuration says."""
