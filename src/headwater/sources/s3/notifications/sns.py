"""SNS: the envelope around another sender's body, and the topic's own messages."""

from collections.abc import Mapping

from headwater.sources.notifications.fields import quote
from headwater.sources.notifications.outcome import Skipped, SkipReason

# Their URLs are not fetched: anyone who can write to the queue could make us call any address.
_CONFIRMATIONS: Mapping[str, SkipReason] = {
    "SubscriptionConfirmation": "subscription_confirmation",
    "UnsubscribeConfirmation": "unsubscribe_confirmation",
}


def unwrap_envelope(body: Mapping[str, object]) -> str | None:
    """Return the text inside an SNS envelope; None if it is not one. A `Message` alone is not sufficient."""
    message = body.get("Message")
    return message if body.get("Type") == "Notification" and isinstance(message, str) else None


def parse_confirmation(body: Mapping[str, object]) -> Skipped | None:
    """Return the skip for a topic's (un)subscribe confirmation; None if it is not one."""
    message_type = body.get("Type")
    reason = _CONFIRMATIONS.get(message_type) if isinstance(message_type, str) else None
    return Skipped(reason, f"topic {quote(body.get('TopicArn'))}") if reason else None
