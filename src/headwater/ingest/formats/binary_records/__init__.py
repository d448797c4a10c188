"""Records in a binary encoding that does not describe itself: Avro without a container, and protobuf."""
