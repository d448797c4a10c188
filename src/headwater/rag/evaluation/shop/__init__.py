"""The shipped catalogue: products, queries and judgements from a seeded generator."""
