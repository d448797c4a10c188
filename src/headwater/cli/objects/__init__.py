"""Commands about single objects and their completeness."""
