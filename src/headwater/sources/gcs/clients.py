"""Builds Google's clients: with the machine's default credentials, or with none for an `http://` endpoint."""

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import google.auth
import grpc
from google.api_core.client_options import ClientOptions
from google.auth.credentials import AnonymousCredentials, Credentials
from google.auth.transport.requests import AuthorizedSession
from google.cloud import storage
from google.pubsub_v1 import PublisherClient, SubscriberClient
from google.pubsub_v1.services.publisher.transports import PublisherGrpcTransport
from google.pubsub_v1.services.subscriber.transports import SubscriberGrpcTransport

from headwater.errors import ConfigError
from headwater.sources.gcs.google_errors import NO_CREDENTIALS_HINT, asking
from headwater.sources.gcs.resource_names import Addresses, name_subscription, project_of
from headwater.sources.subject import Subject

if TYPE_CHECKING:
    from headwater.config.source import GcsSourceConfig

STORAGE_ENDPOINT = "https://storage.googleapis.com"
_SCOPES = ("https://www.googleapis.com/auth/cloud-platform",)
_CREDENTIALS = Subject("Google Cloud", "source", NO_CREDENTIALS_HINT)
# A message may be as large as 10 MB, and a response has many.
_RECEIVE_BYTES = [("grpc.max_receive_message_length", -1)]


def find_credentials(endpoint: str | None) -> tuple[Credentials, str | None]:
    """Return credentials and their project. An emulator, at an `http://` endpoint, gets anonymous ones.

    Raises `CredentialsError` if this machine has none.
    """
    if endpoint is not None and endpoint.startswith("http://"):
        return AnonymousCredentials(), None
    with asking(_CREDENTIALS):
        found, project = google.auth.default(scopes=_SCOPES)
    return found, project


def build_session(endpoint: str | None, max_connections: int = 16) -> AuthorizedSession:
    """Build a session for requests to Cloud Storage. Raises `CredentialsError`."""
    from requests.adapters import HTTPAdapter

    credentials, _ = find_credentials(endpoint)
    session = AuthorizedSession(credentials)
    adapter = HTTPAdapter(pool_connections=max_connections, pool_maxsize=max_connections)
    session.mount(endpoint or STORAGE_ENDPOINT, adapter)
    return session


def build_storage_client(endpoint: str | None, project: str | None = None) -> storage.Client:
    """Build a client of Cloud Storage. Raises `CredentialsError`."""
    credentials, found = find_credentials(endpoint)
    return storage.Client(
        # Requests about one bucket need no project, but the client insists on one.
        project=project or found or "none",
        credentials=credentials,
        client_options=ClientOptions(api_endpoint=endpoint) if endpoint else None,
    )


def build_subscriber(endpoint: str | None) -> SubscriberClient:
    """Build a thread-safe client of Pub/Sub's subscriptions. Raises `CredentialsError`."""
    channel = _open_channel(endpoint)
    return SubscriberClient(transport=SubscriberGrpcTransport(channel=channel))


def build_publisher(endpoint: str | None) -> PublisherClient:
    """Build a thread-safe client of Pub/Sub's topics. Raises `CredentialsError`."""
    channel = _open_channel(endpoint)
    return PublisherClient(transport=PublisherGrpcTransport(channel=channel))


def _open_channel(endpoint: str | None) -> grpc.Channel:
    credentials, _ = find_credentials(endpoint)
    host = urlsplit(endpoint).netloc if endpoint else SubscriberClient.DEFAULT_ENDPOINT
    if isinstance(credentials, AnonymousCredentials):
        return grpc.insecure_channel(host, options=_RECEIVE_BYTES)
    # Topics and subscriptions have the same address and scopes.
    return SubscriberGrpcTransport.create_channel(host, credentials=credentials, options=_RECEIVE_BYTES)


def find_subscription(source: "GcsSourceConfig") -> str:
    """Return the full name of the source's subscription. Raises as `find_addresses`."""
    return find_addresses(source).subscription


def find_addresses(source: "GcsSourceConfig") -> Addresses:
    """Return the full names of the source's subscription and topics.

    Raises `ConfigError` if neither the configuration nor the credentials name a project, and
    `CredentialsError` if there are none.
    """
    name = name_subscription(source)
    if name.startswith("projects/"):
        return Addresses.of(source, project_of(name))
    project = source.project or find_credentials(source.queue.endpoint)[1]
    if project is None:
        raise ConfigError(
            f"no project for subscription {name}",
            hint="set source.project, or source.subscription to projects/PROJECT/subscriptions/NAME",
        )
    return Addresses.of(source, project)
