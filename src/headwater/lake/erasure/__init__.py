"""Erasure of subjects: the rows that a person or thing is identified by. See decision 0055."""
