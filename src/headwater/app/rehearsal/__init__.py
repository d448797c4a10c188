"""`headwater rehearse`: runs an edited file on a shadow of the lake, and compares the rows."""

from headwater.app.rehearsal.rehearsal import Rehearsal
from headwater.app.rehearsal.report import RehearsalReport, TableRehearsal
from headwater.app.rehearsal.window import RehearsalWindow

__all__ = ["Rehearsal", "RehearsalReport", "RehearsalWindow", "TableRehearsal"]
