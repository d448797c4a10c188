"""What a configured table looks at, and where."""

from headwater.config.settings import Settings
from headwater.errors import UsageError
from headwater.ingest.planning.plan import Scope
from headwater.ingest.planning.selection import build_selector


def source_provider(settings: Settings) -> str:
    """The provider that events of the source name."""
    return "s3" if settings.source.type == "s3" else "local"


def source_bucket(settings: Settings) -> str:
    """The bucket that events of the source name; for a folder, the folder."""
    source = settings.source
    return source.bucket if source.type == "s3" else str(source.path)


def build_scope(settings: Settings, name: str) -> Scope:
    """Bucket, prefix and rules of one table. Raises `UsageError` for a name that is not configured, or not
    of a table that is built from objects."""
    table = settings.tables.get(name)
    if table is None:
        raise UsageError(f"no table {name!r}", hint=f"configured are: {', '.join(settings.tables)}")
    if table.from_ is not None:
        raise UsageError(
            f"table {name!r} is built from table {table.from_!r}, not from objects",
            hint=f"built from objects are: {', '.join(settings.object_tables)}",
        )
    prefix = settings.source.prefix if settings.source.type == "s3" else ""
    return Scope(source_bucket(settings), prefix, build_selector(table))
