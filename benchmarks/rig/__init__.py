"""What benchmarks run on: servers, sessions, load, and a look at processes from outside."""
