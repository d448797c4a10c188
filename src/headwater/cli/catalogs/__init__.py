"""Commands about catalogs."""
