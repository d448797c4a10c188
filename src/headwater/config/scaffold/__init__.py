"""`headwater init`: writes a first headwater.yaml for proposed tables."""

from headwater.config.scaffold.proposal import TableProposal
from headwater.config.scaffold.request import ScaffoldRequest, check_request, resolve_address
from headwater.config.scaffold.writing import Scaffold, parse_source, write_scaffold

__all__ = [
    "Scaffold",
    "ScaffoldRequest",
    "TableProposal",
    "check_request",
    "parse_source",
    "resolve_address",
    "write_scaffold",
]
