"""Tables that are built from tables: bronze to silver to gold."""
