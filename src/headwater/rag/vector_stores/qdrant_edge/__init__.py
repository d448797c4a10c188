"""Qdrant's engine in this process, with the index in a folder that several processes can use."""
