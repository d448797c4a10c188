"""The columns of a data table: names, types, what Hudi can store of them, and how rows are cast to them."""
