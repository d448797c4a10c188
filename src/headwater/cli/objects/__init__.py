"""Commands about single objects and whether all of them are there."""
