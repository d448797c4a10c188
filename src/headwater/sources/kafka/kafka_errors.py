"""Errors of the Kafka client; the only module that knows their codes."""

from collections.abc import Iterator
from contextlib import contextmanager

from confluent_kafka import KafkaError, KafkaException

from headwater.errors import CredentialsError, QueueNotFoundError, SourceError, SourceUnavailableError

_DENIED = frozenset(
    {
        KafkaError._AUTHENTICATION,
        KafkaError._SSL,
        KafkaError.SASL_AUTHENTICATION_FAILED,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    }
)
_ABSENT = frozenset(
    {
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError.UNKNOWN_TOPIC_ID,
        KafkaError._UNKNOWN_TOPIC,
        KafkaError._UNKNOWN_PARTITION,
    }
)
END_OF_PARTITION = KafkaError._PARTITION_EOF
OUT_OF_RANGE = KafkaError._AUTO_OFFSET_RESET
"""A consumer is to read an offset that does not exist, and may not choose another one."""
_WRONG_SETTING = KafkaError._INVALID_ARG
_DENIED_HINT = (
    "check HEADWATER_KAFKA_USER and HEADWATER_KAFKA_PASSWORD, `source.options` (security.protocol, "
    "sasl.mechanism), and the rights to describe and read the topics"
)


def explain(error: KafkaError, what: str) -> SourceError:
    """Return the error of a request; `what` is its subject, as the message names it."""
    text = f"{what}: {error.str()}"
    if error.code() in _DENIED:
        return CredentialsError(text, hint=_DENIED_HINT)
    if error.code() in _ABSENT:
        return QueueNotFoundError(text, hint="create the topic, or correct `source.topics`")
    if error.code() == _WRONG_SETTING:
        return SourceError(text, hint="correct `source.options`")
    hint = "check `source.bootstrap`, the network and the brokers; it will be tried again"
    return SourceUnavailableError(text, hint=hint)


class LastError:
    """Keeps the last error that a client reports in the background: a request only times out."""

    def __init__(self) -> None:
        self._denial: KafkaError | None = None

    def note(self, error: KafkaError) -> None:
        """Receive an error; the client's `error_cb`."""
        if error.code() in _DENIED:
            self._denial = error

    @contextmanager
    def explained(self, what: str) -> Iterator[None]:
        """Convert errors of the client raised inside to `SourceError`."""
        try:
            yield
        except KafkaException as error:
            cause = error.args[0]
            if not isinstance(cause, KafkaError):
                raise SourceError(f"{what}: {error}") from error
            denial, self._denial = self._denial, None
            raise explain(denial or cause, what) from error
