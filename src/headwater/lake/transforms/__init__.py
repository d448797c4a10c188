"""Steps between reading rows and writing them: they know frames, and nothing of where rows come from."""
