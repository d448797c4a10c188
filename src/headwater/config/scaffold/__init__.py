"""`headwater init`: inspects existing files and writes a first headwater.yaml for them."""

from headwater.config.scaffold.writing import Scaffold, ScaffoldRequest, write_scaffold

__all__ = ["Scaffold", "ScaffoldRequest", "write_scaffold"]
