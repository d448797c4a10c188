"""Builds the sender of a target."""

from collections.abc import Mapping

from headwater.app.webhooks.http_post import HttpSender, ensure_headers
from headwater.app.webhooks.protocol import Sender
from headwater.config.webhooks import WebhooksConfig, find_topic


def build_sender(target: str, config: WebhooksConfig, environ: Mapping[str, str]) -> Sender:
    """Build the sender of a target. Raises `ConfigError` for invalid headers in the environment."""
    topic = find_topic(target)
    if topic is None:
        return HttpSender(target, ensure_headers(environ), config.timeout)
    # boto3 takes a while to import, and few runs need it here.
    from headwater.app.webhooks.sns import SnsSender

    return SnsSender(*topic, config.timeout)
