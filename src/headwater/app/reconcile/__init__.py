"""Listing the bucket: one pass on demand, or passes concurrent with the live flow."""

from headwater.app.reconcile.loop import ReconcileLoop
from headwater.app.reconcile.passes import Reconcile, ReconcileDifference, ReconcileReport

__all__ = ["Reconcile", "ReconcileDifference", "ReconcileLoop", "ReconcileReport"]
