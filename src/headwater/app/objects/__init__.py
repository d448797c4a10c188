"""Single objects and whether all of them are in the tables: verification, history, repair, routing."""
