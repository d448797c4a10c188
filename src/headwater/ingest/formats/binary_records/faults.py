"""Why bytes are not a record."""


class RecordFaultError(Exception):
    """Raised for one record that cannot be decoded; the others of its object can."""


class UnknownSchemaError(RecordFaultError):
    """Raised for a record that names a schema which the registry does not have."""
