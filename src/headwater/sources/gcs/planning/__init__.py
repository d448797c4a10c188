"""Compares a source's desired resources with the observed ones: decisions only, no requests."""
