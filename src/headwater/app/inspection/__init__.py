"""`headwater init`: inspects a source, and proposes tables for its files."""

from headwater.app.inspection.inspecting import Inspection, initialize

__all__ = ["Inspection", "initialize"]
