"""`headwater spark`: a shell of PySpark or SQL, and scripts, on the tables of a lake."""

from headwater.cli.spark.command import register

__all__ = ["register"]
