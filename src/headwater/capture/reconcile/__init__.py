"""The bucket's listing against the events table: what no notification told of becomes events."""

from headwater.capture.reconcile.passes import ReconcilePass
from headwater.capture.reconcile.reconciler import (
    Listing,
    ReconcileOptions,
    Reconciler,
    ensure_first_pass,
)

__all__ = ["Listing", "ReconcileOptions", "ReconcilePass", "Reconciler", "ensure_first_pass"]
