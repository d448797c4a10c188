"""The DynamoDB table of locks."""

from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from headwater.config.hudi.lock import LockConfig
from headwater.errors import CredentialsError, LakeError

_SECONDS = 5


def find_lock_table(lock: LockConfig) -> bool:
    """True if the lock table exists and is usable; Hudi creates a missing one.

    Raises `CredentialsError` if access is denied, `LakeError` if the service does not answer or the table has
    another key.
    """
    config = Config(connect_timeout=_SECONDS, read_timeout=_SECONDS, retries={"total_max_attempts": 2})
    try:
        client: Any = boto3.client(
            "dynamodb", region_name=lock.region, endpoint_url=lock.endpoint, config=config
        )
        found = client.describe_table(TableName=lock.table)["Table"]
    except ClientError as error:
        if error.response["Error"]["Code"] == "ResourceNotFoundException":
            return False
        raise CredentialsError(
            f"access to the lock table {lock.table} is denied: {error.response['Error']['Code']}",
            hint="allow dynamodb:DescribeTable, CreateTable, GetItem, PutItem, UpdateItem, DeleteItem on it",
        ) from error
    except BotoCoreError as error:
        raise LakeError(
            f"DynamoDB does not answer for the lock table {lock.table}: {error}",
            hint="check lock.region, lock.endpoint and the network",
        ) from error
    keys = [(key["AttributeName"], key["KeyType"]) for key in found["KeySchema"]]
    if keys != [("key", "HASH")]:
        raise LakeError(
            f"the DynamoDB table {lock.table} has the key {keys}; a lock table requires the single key `key`",
            hint="set another table in lock.table: Hudi creates it",
        )
    return True
