"""Why a record does not fit the columns, and which field of it."""
