"""The credentials of a source: of a profile, of a role that it assumes, or of AWS's default chain."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import botocore.session
from botocore.credentials import (
    AssumeRoleCredentialFetcher,
    CredentialProvider,
    CredentialResolver,
    DeferredRefreshableCredentials,
)
from botocore.exceptions import BotoCoreError, ClientError, CredentialRetrievalError

from headwater.sources.s3.aws import FALLBACK_REGION

if TYPE_CHECKING:
    from headwater.config.source import S3SourceConfig
    from headwater.sources.object_store import ObjectStoreConfig

_METHOD = "assume-role"
_SESSION_NAME = "headwater"


@dataclass(frozen=True, slots=True)
class Access:
    """Whose credentials requests are signed with; empty texts for AWS's default chain.

    With `role_arn`, the credentials of profile or chain assume the role, and are renewed before they expire.
    """

    profile: str = ""
    role_arn: str = ""
    external_id: str = ""

    @classmethod
    def of(cls, source: "S3SourceConfig") -> "Access":
        """Return the access of a source."""
        return cls(source.profile or "", source.role_arn or "", source.external_id or "")

    @classmethod
    def of_store(cls, config: "ObjectStoreConfig") -> "Access":
        """Return the access of the store of a source."""
        return cls(config.profile, config.role, config.external_id)


DEFAULT_ACCESS = Access()


def open_session(access: Access = DEFAULT_ACCESS) -> botocore.session.Session:
    """Return a new session with these credentials. Sends no request.

    A session of its own for each client: boto3's default one is not thread-safe while it builds a client.
    """
    session = botocore.session.Session(profile=access.profile or None)
    if access.role_arn:
        session.register_component("credential_provider", CredentialResolver([_AssumedRole(access)]))
    return session


class _AssumedRole(CredentialProvider):
    """Provides the temporary credentials of a role to a session."""

    METHOD = _METHOD

    def __init__(self, access: Access) -> None:
        super().__init__()
        self._access = access

    def load(self) -> DeferredRefreshableCredentials:
        """See `CredentialProvider`. The role is assumed when a request is signed."""
        access = self._access
        base = botocore.session.Session(profile=access.profile or None)
        extra = {"ExternalId": access.external_id} if access.external_id else {}
        fetcher = AssumeRoleCredentialFetcher(
            client_creator=_build_creator(base),
            source_credentials=base.get_credentials(),
            role_arn=access.role_arn,
            extra_args={"RoleSessionName": _SESSION_NAME, **extra},
        )

        def fetch() -> Mapping[str, Any]:
            try:
                found: Mapping[str, Any] = fetcher.fetch_credentials()
            except (BotoCoreError, ClientError) as error:
                what = f"{access.role_arn}: {error}"
                raise CredentialRetrievalError(provider=_METHOD, error_msg=what) from error
            return found

        return DeferredRefreshableCredentials(method=_METHOD, refresh_using=fetch)


def _build_creator(session: botocore.session.Session) -> Any:
    region = session.get_config_variable("region") or FALLBACK_REGION

    def create(service: str, **arguments: Any) -> Any:
        return session.create_client(service, **{"region_name": region, **arguments})

    return create
