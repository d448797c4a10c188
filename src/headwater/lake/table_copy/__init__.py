"""The files of a table that make its state at one moment, so that a copy of them is the table at that moment.

Nothing is written to the table, and nothing keeps its cleaner from deleting files: a copy that misses some is
recognized, and repeated from a newer state.
"""
