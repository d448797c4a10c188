"""The object ledger: what each data table has made of each object."""
