"""The catalogue that ships: products, queries and judgements, written by a seeded generator."""
