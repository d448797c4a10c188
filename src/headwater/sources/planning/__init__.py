"""What the plans of all vendors' resources have in common: decisions only, no requests."""
