"""What a Spark session needs of this machine before it starts: a Java, and jars."""
