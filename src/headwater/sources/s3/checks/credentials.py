"""Checks the credentials that AWS clients of this process find, and sets the clients' timeouts."""

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from headwater.sources.finding import SetupFinding
from headwater.sources.s3.access import Access, open_session
from headwater.sources.s3.aws import NO_CREDENTIALS_HINT, find_credentials_hint, find_retrieval_hint

NAME = "credentials"

# A check must respond soon: a user waits for it.
QUICK = Config(
    connect_timeout=2,
    read_timeout=5,
    retries={"mode": "standard", "total_max_attempts": 2},
    tcp_keepalive=True,
)


def check_credentials(access: Access, *, ask_aws: bool) -> SetupFinding:
    """Check that credentials exist and, with `ask_aws`, get their identity. Never shows a part of them.

    Without `ask_aws` no request is sent: credentials of another store must not reach AWS.
    """
    try:
        session = boto3.session.Session(botocore_session=open_session(access))
        credentials = session.get_credentials()
        if credentials is None:
            return SetupFinding(NAME, "problem", "no AWS credentials were found", NO_CREDENTIALS_HINT)
        if access.role_arn:
            # Assumes the role, so that a refusal is found now.
            credentials.get_frozen_credentials()
        found = f"found by {credentials.method}"
        return _ask_identity(session, found) if ask_aws else SetupFinding(NAME, "ok", found)
    except (BotoCoreError, ClientError) as error:
        return SetupFinding(
            NAME, "problem", f"the AWS credentials cannot be used: {error}", find_retrieval_hint(error)
        )


def _ask_identity(session: boto3.session.Session, found: str) -> SetupFinding:
    client = session.client("sts", region_name=session.region_name or "us-east-1", config=QUICK)
    try:
        answer = client.get_caller_identity()
    except ClientError as error:
        hint = find_credentials_hint(error)
        if hint:
            return SetupFinding(NAME, "problem", f"the credentials were rejected: {error}", hint)
        return SetupFinding(NAME, "ok", f"{found}; no permission to get their identity")
    except BotoCoreError:
        # STS may be unreachable in a closed network in which S3 and SQS are available.
        return SetupFinding(NAME, "ok", f"{found}; their identity is unknown because STS does not answer")
    finally:
        client.close()
    return SetupFinding(NAME, "ok", f"{found}: {answer['Arn']}")
