"""Names that other programs import keep working wherever their code is."""

from headwater.capture import notifications
from headwater.sources import message_parser
from headwater.sources.notifications import outcome


def test_notifications_are_parsed_under_their_public_name() -> None:
    assert notifications.parse_message is message_parser.parse_message
    assert notifications.ParsedMessage is outcome.ParsedMessage
