"""Components that work alongside capture and the data tables of a run, all with the same life cycle."""

from headwater.app.components.background_loop import BackgroundLoop
from headwater.app.components.batch_note import BatchNote
from headwater.app.components.commit_loop import CommitLoop
from headwater.app.components.component import Component
from headwater.app.components.delivery_loop import DeliveryLoop
from headwater.app.components.elected import Elected
from headwater.app.components.run_report import RunReport, TableTotals

__all__ = [
    "BackgroundLoop",
    "BatchNote",
    "CommitLoop",
    "Component",
    "DeliveryLoop",
    "Elected",
    "RunReport",
    "TableTotals",
]
