"""Builds access options for readers without a JVM on lakes in object stores, with default credentials."""

from headwater.config.environment import read_environment
from headwater.config.settings import LakeStorageConfig

_S3_SCHEMES = ("s3://", "s3a://")
_GCS_SCHEME = "gs://"
_DEFAULT_REGION = "us-east-1"


def build_storage_options(lake: str, store: LakeStorageConfig) -> dict[str, str]:
    """Return options of the `object_store` crate, which hudi-rs uses; empty for any other lake.

    Those of S3 contain a snapshot of the credentials: a reader that outlives a role's session needs new ones.
    Those of Cloud Storage contain none, because the crate gets tokens itself.
    """
    if lake.startswith(_S3_SCHEMES):
        return _build_s3_options(store)
    return _build_gcs_options(store) if lake.startswith(_GCS_SCHEME) else {}


def _build_s3_options(store: LakeStorageConfig) -> dict[str, str]:
    """Use boto3's credential chain; without credentials, requests are unsigned, for public buckets."""
    import boto3

    session = boto3.Session()
    path_style = bool(store.endpoint) if store.path_style is None else store.path_style
    options = {
        "aws_region": store.region or session.region_name or _DEFAULT_REGION,
        "aws_virtual_hosted_style_request": str(not path_style).lower(),
    }
    if store.endpoint:
        options["aws_endpoint"] = store.endpoint
        options["aws_allow_http"] = str(store.endpoint.startswith("http://")).lower()
    credentials = session.get_credentials()
    if credentials is None:
        return options | {"aws_skip_signature": "true"}
    frozen = credentials.get_frozen_credentials()
    options["aws_access_key_id"] = frozen.access_key or ""
    options["aws_secret_access_key"] = frozen.secret_key or ""
    if frozen.token:
        options["aws_session_token"] = frozen.token
    return options


def _build_gcs_options(store: LakeStorageConfig) -> dict[str, str]:
    """Name the file of credentials, if any: the crate itself finds gcloud's login and the machine's."""
    options = {"google_base_url": store.endpoint} if store.endpoint else {}
    if store.endpoint and store.endpoint.startswith("http://"):
        return options | {"google_skip_signature": "true", "google_allow_http": "true"}
    file = read_environment().get("GOOGLE_APPLICATION_CREDENTIALS")
    return options | {"google_application_credentials": file} if file else options
