"""Finds Google's service agents, the accounts with which its services publish and move messages."""

import re
from typing import TYPE_CHECKING

from headwater.errors import BucketNotFoundError, SourceError
from headwater.sources.gcs.google_errors import needing
from headwater.sources.gcs.planning.desired import Agents
from headwater.sources.gcs.provisioning.requests import PATIENT, TIMEOUT
from headwater.sources.subject import Subject

if TYPE_CHECKING:
    from google.cloud.storage import Client

_NUMBERED = re.compile(r"service-(\d+)@")


def find_agents(client: "Client", bucket: str, project: str) -> Agents:
    """Return the agents for a bucket, which may be in another project, and for a project's Pub/Sub.

    Asking for the agent of Cloud Storage creates it if the project has none yet.
    """
    with needing(
        "storage.buckets.get", Subject(f"bucket {bucket}", "source.bucket", ""), BucketNotFoundError
    ):
        found = client.get_bucket(bucket, retry=PATIENT, timeout=TIMEOUT)
    publisher = _find_storage_agent(client, str(found.project_number))
    return Agents(publisher, _find_pubsub_agent(client, project))


def _find_storage_agent(client: "Client", project: str) -> str:
    with needing("resourcemanager.projects.get", Subject(f"project {project}", "source.project", "")):
        return str(client.get_service_account_email(project=project, retry=PATIENT, timeout=TIMEOUT))


def _find_pubsub_agent(client: "Client", project: str) -> str:
    """Return the account of Pub/Sub, which has the project's number as that of Cloud Storage has."""
    account = _find_storage_agent(client, project)
    numbered = _NUMBERED.match(account)
    if numbered is None:
        raise SourceError(
            f"project {project}: no project number in the service account {account!r}",
            hint="create topic and subscription with Google's tools, and set source.subscription",
        )
    return f"service-{numbered[1]}@gcp-sa-pubsub.iam.gserviceaccount.com"
