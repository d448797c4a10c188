"""The object ledger: the state of each object in each data table."""
