"""Objects in S3 and S3-compatible stores. One store per process and configuration."""

from contextlib import closing
from typing import TYPE_CHECKING

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, ParamValidationError
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from headwater.errors import (
    CredentialsError,
    HeadwaterError,
    ObjectForbiddenError,
    ObjectMissingError,
    ObjectSupersededError,
    ObjectTooLargeError,
    ObjectUnavailableError,
    SourceError,
)
from headwater.sources.object_store import ObjectContent, ObjectRef, ObjectState
from headwater.sources.s3.access import Access, open_session
from headwater.sources.s3.aws import (
    NO_CREDENTIALS,
    error_status,
    find_credentials_hint,
    is_busy,
    is_wrong_region,
)
from headwater.sources.s3.direct_reads import DirectReads, find_required_etag

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import (
        GetObjectOutputTypeDef,
        GetObjectRequestTypeDef,
        HeadObjectOutputTypeDef,
    )

    from headwater.sources.object_store import ObjectStoreConfig

_BODY_ATTEMPTS = 3

# References that no object can have: S3 responds 400, which here means that no such key or version exists.
_IMPOSSIBLE_CODES = frozenset({"KeyTooLongError", "InvalidArgument", "InvalidURI"})

_FORBIDDEN_HINTS = {
    "AccessDenied": "allow s3:GetObject, s3:GetObjectVersion and kms:Decrypt; without s3:ListBucket, "
    "S3 also denies access to missing keys",
    "InvalidObjectState": "the object is archived: restore it, then run `headwater quarantine retry`",
    # A 404, but an event of another bucket must not block the others, and must not count as a removal.
    "NoSuchBucket": "no such bucket at this endpoint: check `source.bucket` and `source.endpoint`",
}


class S3ObjectStore:
    """Reads by version if one is named, else with If-Match."""

    def __init__(self, client: "S3Client", direct: DirectReads, scheme: str = "s3a") -> None:
        self._client = client
        self._direct = direct
        self._scheme = scheme

    def read(self, ref: ObjectRef, max_bytes: int | None = None) -> ObjectContent:
        """See `ObjectStore.read`. Retries a truncated body."""
        content = self._direct.read(ref, max_bytes)
        return content if content is not None else self._read_carefully(ref, max_bytes)

    def _read_carefully(self, ref: ObjectRef, max_bytes: int | None) -> ObjectContent:
        retry = Retrying(
            retry=retry_if_exception_type(ObjectUnavailableError),
            stop=stop_after_attempt(_BODY_ATTEMPTS),
            wait=wait_random_exponential(multiplier=0.2, max=2),
            reraise=True,
        )
        try:
            return retry(self._read_once, ref, max_bytes)
        except (ClientError, BotoCoreError) as error:
            raise self._translate(error, ref) from error

    def state(self, ref: ObjectRef) -> ObjectState | None:
        """See `ObjectStore.state`."""
        try:
            answer = self._client.head_object(Bucket=ref.bucket, Key=ref.key)
        except (ClientError, BotoCoreError) as error:
            translated = self._translate(error, ref)
            if isinstance(translated, ObjectMissingError):
                return None
            raise translated from error
        return _to_state(answer)

    def uri(self, ref: ObjectRef) -> str:
        """Return `s3a://bucket/key`, or the configured scheme."""
        return f"{self._scheme}://{ref.bucket}/{ref.key}"

    def _read_once(self, ref: ObjectRef, max_bytes: int | None) -> ObjectContent:
        answer = self._client.get_object(**_build_request(ref))
        self._direct.learn(ref)
        # Not `with answer["Body"]`: that returns the raw stream, without the length check.
        with closing(answer["Body"]) as body:
            state = _to_state(answer)
            if max_bytes is not None and state.size > max_bytes:
                raise ObjectTooLargeError(
                    f"{self.uri(ref)} has {state.size} bytes; the limit for one object is {max_bytes}"
                )
            try:
                return ObjectContent(body.read(), state)
            except BotoCoreError as error:
                raise ObjectUnavailableError(
                    f"the body of {self.uri(ref)} was truncated: {error}", hint="it will be retried"
                ) from error

    def _translate(self, error: Exception, ref: ObjectRef) -> HeadwaterError:
        where = self.uri(ref) + (f" version {ref.version_id}" if ref.version_id else "")
        if isinstance(error, ClientError):
            return _translate_answer(error, where, ref)
        if isinstance(error, NO_CREDENTIALS):
            return CredentialsError(
                f"no usable AWS credentials to read {where}: {error}",
                hint="set AWS_PROFILE or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY where the executors run",
            )
        if isinstance(error, ParamValidationError):
            return ObjectForbiddenError(
                f"{where} cannot be requested: {error}", hint="no object can have this name"
            )
        return ObjectUnavailableError(f"{where} could not be read: {error}", hint="it will be retried")


def _build_request(ref: ObjectRef) -> "GetObjectRequestTypeDef":
    request: GetObjectRequestTypeDef = {"Bucket": ref.bucket, "Key": ref.key}
    if ref.version_id is not None:
        request["VersionId"] = ref.version_id
    etag = find_required_etag(ref)
    if etag is not None:
        request["IfMatch"] = f'"{etag}"'
    return request


def _to_state(answer: "GetObjectOutputTypeDef | HeadObjectOutputTypeDef") -> ObjectState:
    return ObjectState(
        etag=answer.get("ETag", "").strip('"') or None,
        version_id=answer.get("VersionId"),
        size=answer["ContentLength"],
        last_modified=answer["LastModified"],
    )


def _translate_answer(error: ClientError, where: str, ref: ObjectRef) -> HeadwaterError:
    code = error.response.get("Error", {}).get("Code", "")
    status = error_status(error)
    credentials_hint = find_credentials_hint(error)
    if credentials_hint:
        return CredentialsError(f"{where} cannot be read: {code}", hint=credentials_hint)
    if is_wrong_region(error):
        return SourceError(f"bucket {ref.bucket} is in another region: {error}", hint="set `source.region`")
    if status == 412:
        return ObjectSupersededError(f"{where} no longer has etag {ref.etag}")
    # 405: the version is a delete marker.
    if code not in _FORBIDDEN_HINTS and (status in (404, 405) or code in _IMPOSSIBLE_CODES):
        return ObjectMissingError(f"{where} does not exist ({code})")
    if is_busy(error):
        return ObjectUnavailableError(f"{where} could not be read: {code}", hint="it will be retried")
    hint = _FORBIDDEN_HINTS.get(code, _FORBIDDEN_HINTS["AccessDenied"])
    return ObjectForbiddenError(f"{where} cannot be read: {code}", hint=hint)


def build_s3_store(config: "ObjectStoreConfig") -> S3ObjectStore:
    """Build a store with the source's credentials, which its process finds."""
    core = open_session(Access.of_store(config))
    session = boto3.session.Session(botocore_session=core)
    path_style = config.path_style if config.path_style is not None else config.endpoint is not None
    client = session.client(
        "s3",
        region_name=config.region or session.region_name or ("us-east-1" if config.endpoint else None),
        endpoint_url=config.endpoint,
        config=Config(
            max_pool_connections=config.max_connections,
            retries={"mode": "adaptive", "total_max_attempts": config.max_attempts},
            connect_timeout=config.connect_timeout,
            read_timeout=config.read_timeout,
            tcp_keepalive=True,
            s3={"addressing_style": "path" if path_style else "auto"},
        ),
    )
    direct = DirectReads(client, core, config.connect_timeout, config.read_timeout)
    return S3ObjectStore(client, direct, config.scheme)
