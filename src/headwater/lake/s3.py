"""Builds access options for readers without a JVM on `s3a://` lakes, with boto3's credential chain."""

from headwater.config.settings import LakeStorageConfig

S3_SCHEMES = ("s3://", "s3a://")
DEFAULT_REGION = "us-east-1"


def build_storage_options(lake: str, store: LakeStorageConfig) -> dict[str, str]:
    """Return options of the `object_store` crate, which hudi-rs uses; empty for a lake outside S3.

    Without credentials, requests are unsigned, which public buckets accept. The credentials are a snapshot: a
    reader that outlives a role's session needs new ones.
    """
    if not lake.startswith(S3_SCHEMES):
        return {}
    import boto3

    session = boto3.Session()
    path_style = bool(store.endpoint) if store.path_style is None else store.path_style
    options = {
        "aws_region": store.region or session.region_name or DEFAULT_REGION,
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
