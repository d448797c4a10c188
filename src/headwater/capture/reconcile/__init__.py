"""Compares the bucket's listing with the events table: objects with lost notifications become events."""

from headwater.capture.reconcile.passes import ReconcilePass
from headwater.capture.reconcile.reconciler import (
    Listing,
    ReconcileOptions,
    Reconciler,
    ensure_first_pass,
)

__all__ = ["Listing", "ReconcileOptions", "ReconcilePass", "Reconciler", "ensure_first_pass"]
