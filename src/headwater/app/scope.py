"""What a configured table looks at."""

from headwater.config.settings import Settings
from headwater.errors import UsageError
from headwater.ingest.planning.plan import Scope
from headwater.ingest.planning.selection import build_selector


def build_scope(settings: Settings, name: str) -> Scope:
    """Bucket, prefix and rules of one table. Raises `UsageError` for a name that is not configured."""
    table = settings.tables.get(name)
    if table is None:
        raise UsageError(f"no table {name!r}", hint=f"configured are: {', '.join(settings.tables)}")
    source = settings.source
    if source.type == "s3":
        return Scope(source.bucket, source.prefix, build_selector(table))
    return Scope(str(source.path), "", build_selector(table))
