"""Notification resources between bucket and queue: planned, created, tested, removed; and their IAM
policies."""

from headwater.app.provisioning.changes import (
    PROBE_SECONDS,
    UpReport,
    plan_removal,
    plan_resources,
    set_up,
    take_down,
)
from headwater.app.provisioning.policies import build_policies

__all__ = [
    "PROBE_SECONDS",
    "UpReport",
    "build_policies",
    "plan_removal",
    "plan_resources",
    "set_up",
    "take_down",
]
