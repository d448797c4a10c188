"""Single objects and whether all of them are there: proof, history, repair, routing."""
