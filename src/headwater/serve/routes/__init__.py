"""One module a group of addresses; each has `build_router(service)`."""
