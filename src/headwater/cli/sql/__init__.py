"""`headwater sql`: the command, its output formats and its prompt."""

from headwater.cli.sql.command import register

__all__ = ["register"]
