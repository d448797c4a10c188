"""Lineage: which dataset is built from which according to the configuration, and how far it lags."""
