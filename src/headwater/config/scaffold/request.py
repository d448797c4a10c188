"""`ScaffoldRequest`: the options of `headwater init`, and which of them fit together."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from headwater.config.environment import DEFAULT_CONFIG_NAME
from headwater.errors import UsageError

SourceKind = Literal["local", "s3", "gcs", "azure", "kafka"]

_APPLIES_TO: Mapping[str, tuple[SourceKind, ...]] = {
    "path": ("local",),
    "bucket": ("s3", "gcs"),
    "prefix": ("s3", "gcs", "azure"),
    "endpoint": ("s3", "gcs", "azure"),
    "queue_url": ("s3",),
    "subscription": ("gcs",),
    "account": ("azure",),
    "container": ("azure",),
    "queue": ("azure",),
    "bootstrap": ("kafka",),
    "topic": ("kafka",),
}
_REQUIRED: Mapping[SourceKind, tuple[str, ...]] = {
    "local": (),
    "s3": ("bucket",),
    "gcs": ("bucket",),
    "azure": ("account", "container", "queue"),
    "kafka": ("bootstrap", "topic"),
}
CREATE: Mapping[SourceKind, str] = {
    "s3": "create queue and notification with headwater up, or set source.queue.url to an existing queue",
    "gcs": "create topic, subscription and notification with headwater up, or set source.subscription to an "
    "existing subscription",
}
"""The remaining step for a source that needs resources."""
_ADDRESSES: Mapping[str, SourceKind] = {
    **dict.fromkeys(("s3", "s3a", "s3n"), "s3"),
    **dict.fromkeys(("gs", "gcs"), "gcs"),
    **dict.fromkeys(("az", "abfs", "abfss", "wasb", "wasbs"), "azure"),
}


@dataclass(frozen=True, slots=True)
class ScaffoldRequest:
    """The options of `headwater init`. Relative paths are relative to the working folder.

    `path` is a folder, or the address of a bucket: see `resolve_address`. Without `inspect`, nothing is read.
    """

    folder: Path
    source: SourceKind = "local"
    path: str | Path | None = None
    lake: str | None = None
    bucket: str | None = None
    prefix: str | None = None
    endpoint: str | None = None
    queue_url: str | None = None
    subscription: str | None = None
    account: str | None = None
    container: str | None = None
    queue: str | None = None
    bootstrap: str | None = None
    topic: str | None = None
    force: bool = False
    inspect: bool = True

    @property
    def needs_resources(self) -> bool:
        """True if `headwater up` has to create what delivers the source's notifications."""
        return self.source in CREATE and not (self.queue_url or self.subscription)

    @property
    def inspects(self) -> bool:
        """True if the files of the source are read; messages of a topic are not."""
        return self.inspect and self.source != "kafka"


def resolve_address(request: ScaffoldRequest) -> ScaffoldRequest:
    """Return the request with the bucket and the prefix of an address in `path`.

    Raises `UsageError` for an unknown scheme, and for options that contradict the address.
    """
    scheme, separator, rest = str(request.path or "").partition("://")
    if not separator:
        return request
    kind = _ADDRESSES.get(scheme.lower())
    bucket, _, prefix = rest.partition("/")
    if kind is None or not bucket:
        raise UsageError(
            f"--path {request.path} is no address of a bucket",
            hint="specify s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX, or a folder",
        )
    if request.source not in ("local", kind):
        raise UsageError(
            f"--path {request.path} does not fit --source {request.source}", hint="omit --source"
        )
    if request.bucket or request.container or request.prefix:
        raise UsageError(
            f"--path {request.path} and --bucket, --container or --prefix name the same thing",
            hint="specify --path only",
        )
    prefix = f"{prefix.rstrip('/')}/" if prefix.strip("/") else ""
    found = replace(request, source=kind, path=None, prefix=prefix or None)
    if kind != "azure":
        return replace(found, bucket=bucket)
    container, _, host = bucket.partition("@")
    account = re.match(r"[a-z0-9]*", host)
    return replace(found, container=container, account=request.account or (account[0] if account else None))


def check_request(request: ScaffoldRequest) -> None:
    """Raise `UsageError` for options that are missing or do not fit, and for an existing headwater.yaml."""
    for option, sources in _APPLIES_TO.items():
        if getattr(request, option) and request.source not in sources:
            raise UsageError(
                f"{_format_flag(option)} applies only to --source {' and '.join(sources)}",
                hint=f"omit it for --source {request.source}, or specify another source",
            )
    required = _REQUIRED[request.source]
    missing = [_format_flag(option) for option in required if not getattr(request, option)]
    if missing:
        flags = " ".join(f"{_format_flag(option)} {option.upper()}" for option in required)
        raise UsageError(
            f"--source {request.source} requires {' and '.join(missing)}",
            hint=f"headwater init --source {request.source} {flags}",
        )
    if request.source == "local" and request.path and Path(request.path).expanduser().is_file():
        raise UsageError(f"--path {request.path} is a file", hint="specify the folder that contains it")
    if request.folder.expanduser().is_file():
        raise UsageError(f"{request.folder} is a file", hint="specify a folder for headwater.yaml")
    config_path = request.folder.expanduser().absolute() / DEFAULT_CONFIG_NAME
    if config_path.exists() and not request.force:
        raise UsageError(
            f"{config_path} already exists", hint="overwrite it with --force, or specify another folder"
        )


def _format_flag(option: str) -> str:
    return f"--{option.replace('_', '-')}"
