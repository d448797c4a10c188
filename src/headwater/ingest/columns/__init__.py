"""The columns of a data table: names, types, storage in Hudi, and casts of rows."""
