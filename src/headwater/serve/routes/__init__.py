"""One module per group of routes; each has `build_router(service)`."""
