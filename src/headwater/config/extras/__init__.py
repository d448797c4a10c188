"""Optional packages: which extra installs them, and which section of a configuration needs it."""
