"""Alerting rules and a dashboard, built from the names of the metrics."""
