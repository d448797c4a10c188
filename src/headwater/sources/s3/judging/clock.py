"""Compares this machine's clock with the server's. Requests signed 15 minutes off are rejected."""

from datetime import datetime

from headwater.sources.finding import SetupFinding

WARNING_SECONDS = 60
PROBLEM_SECONDS = 300


def judge_clock(local: datetime, server: datetime) -> SetupFinding:
    """Compare two aware times of the same moment; the server's has whole seconds."""
    ahead = (local - server).total_seconds()
    seconds = abs(ahead)
    detail = f"this machine's clock is {seconds:.0f} s {'ahead of' if ahead > 0 else 'behind'} the server's"
    fix = "set the clock: timedatectl set-ntp true, chrony or ntpd"
    if seconds > PROBLEM_SECONDS:
        return SetupFinding("clock", "problem", f"{detail}; requests signed 15 minutes off are rejected", fix)
    if seconds > WARNING_SECONDS:
        return SetupFinding("clock", "warning", detail, fix)
    return SetupFinding("clock", "ok", "within a minute of the server's")
