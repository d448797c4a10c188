"""Webhooks of a run: documents about commits and quarantined data, to HTTP servers and SNS topics."""

from headwater.app.webhooks.http_post import ensure_headers
from headwater.app.webhooks.loop import WebhookLoop, build_webhooks

__all__ = ["WebhookLoop", "build_webhooks", "ensure_headers"]
