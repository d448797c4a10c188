"""The whole pipeline in one thread and without Spark: the real decisions in a world that fails on purpose."""
