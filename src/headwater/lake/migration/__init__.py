"""What becomes a table here: files of others, and tables of another version of Hudi."""
