"""`search:` what is indexed, and how it is served."""

from headwater.config.search.index import SearchConfig

__all__ = ["SearchConfig"]
