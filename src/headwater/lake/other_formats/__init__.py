"""Tables of other programs in other formats, which headwater reads and never writes: Delta and Iceberg."""
