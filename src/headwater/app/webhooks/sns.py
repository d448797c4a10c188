"""SNS topics as targets of webhooks."""

from functools import cached_property
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from headwater.app.webhooks.documents import Document
from headwater.app.webhooks.protocol import DeliveryError, is_lasting_status


class SnsSender:
    """Publishes documents to a topic, with the event as a message attribute for filter policies."""

    def __init__(self, arn: str, region: str, timeout: float) -> None:
        self._arn = arn
        self._region = region
        self._timeout = timeout

    @cached_property
    def _client(self) -> Any:
        # The caller retries, with backoff.
        config = Config(
            connect_timeout=self._timeout, read_timeout=self._timeout, retries={"total_max_attempts": 1}
        )
        return boto3.client("sns", region_name=self._region, config=config)

    def send(self, document: Document) -> None:
        """See `Sender.send`."""
        attributes = {"event": {"DataType": "String", "StringValue": document.event}}
        try:
            self._client.publish(
                TopicArn=self._arn, Message=document.body.decode(), MessageAttributes=attributes
            )
        except ClientError as error:
            status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
            raise DeliveryError(f"SNS rejects it: {error}", is_lasting=is_lasting_status(status)) from error
        except BotoCoreError as error:
            raise DeliveryError(f"SNS does not answer: {error}", is_lasting=False) from error
