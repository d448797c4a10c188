"""The register of forgotten subjects, which batches, `verify` and `headwater forget` read."""
