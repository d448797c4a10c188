"""Which processes write which tables of a lake now: seen from any machine, and true after a SIGKILL."""
