"""Prerequisites of a Spark session on this machine: Java and jars."""
