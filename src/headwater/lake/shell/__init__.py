"""A Spark session in which a lake's tables have their names, and whose statements are checked first."""
