"""What is made from what, as the configuration says, and how far it is behind."""
