"""How fast headwater is, always against a floor measured in the same run: `make bench`."""
