"""Lineage: the datasets that each dataset is built from according to the configuration, and its lag."""
