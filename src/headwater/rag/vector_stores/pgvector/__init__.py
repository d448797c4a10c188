"""PostgreSQL with pgvector: a server-side vector store."""
