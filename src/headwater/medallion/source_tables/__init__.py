"""The tables that derived tables follow: of the lake, and of other programs in several formats."""
