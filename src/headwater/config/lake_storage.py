"""`lake_storage`, and checks of it against `lake` and the sources that Spark reads."""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pydantic import Field

from headwater.config.azure_account import AZURE_SCHEMES, parse_azure_address
from headwater.config.problems.problem import KeyPath
from headwater.config.section import Section

if TYPE_CHECKING:
    from headwater.config.source import SourceConfig

Problem = tuple[KeyPath, str]
_Sources = Sequence[tuple[KeyPath, "SourceConfig"]]

_AZURE_ADDRESS = "abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PATH"


class LakeStorageConfig(Section):
    """The store of a lake: an S3-compatible one outside AWS, one with the API of Cloud Storage, or an
    emulator of Azure."""

    endpoint: str | None = Field(
        None,
        description="Endpoint of the S3-compatible store, or of a service with the API of Cloud Storage. The "
        "latter gets no credentials with `http://`. Of an emulator of Azure: `http://HOST:PORT/ACCOUNT`.",
    )
    region: str | None = Field(None, description="Region of the store.")
    path_style: bool | None = Field(
        None, description="Address buckets by path instead of host name. Default: true with an endpoint."
    )


def iter_store_problems(lake: str, store: LakeStorageConfig, sources: _Sources) -> Iterator[Problem]:
    """Yield keys with a sentence."""
    is_azure = lake.startswith(AZURE_SCHEMES)
    if is_azure or lake.startswith("gs://"):
        for key in ("region", "path_style"):
            if getattr(store, key) is not None:
                yield ("lake_storage", key), "applies only to a lake at s3a://; remove it"
    if is_azure:
        yield from _iter_address_problems(lake, store)
    yield from _iter_endpoint_problems(
        [("`lake_storage.endpoint`", store.endpoint)] if lake.startswith("gs://") else [],
        [(p, s.endpoint, s.name) for p, s in sources if s.type == "gcs" and s.file_system_scheme],
        "buckets of Cloud Storage",
    )
    yield from _iter_endpoint_problems(
        [("`lake_storage.endpoint`", store.endpoint)] if is_azure else [],
        [(p, s.dfs_endpoint, s.name) for p, s in sources if s.type == "azure" and s.file_system_scheme],
        "accounts of Azure",
    )


def _iter_address_problems(lake: str, store: LakeStorageConfig) -> Iterator[Problem]:
    address = parse_azure_address(lake)
    if address is None:
        yield ("lake",), f"{lake!r} names no container and account; write {_AZURE_ADDRESS}"
    elif store.endpoint and not re.fullmatch(rf"https?://[^\s/]+/{address.account}", store.endpoint):
        yield (
            ("lake_storage", "endpoint"),
            f"{store.endpoint!r} is not that of an emulator, `http://HOST:PORT/{address.account}`; for "
            f"another cloud, write its host in `lake`: {_AZURE_ADDRESS}",
        )


def _iter_endpoint_problems(
    known: list[tuple[str, str | None]],
    read: Sequence[tuple[KeyPath, str | None, str | None]],
    what: str,
) -> Iterator[Problem]:
    """Yield sources at another endpoint than the first of all: a driver of Spark has only one."""
    for path, endpoint, name in read:
        if not known:
            known = [(f"that of source {name!r}", endpoint)]
        elif endpoint != known[0][1]:
            yield (
                (*path, "endpoint"),
                f"{endpoint!r} differs from {known[0][0]}, and Spark has one endpoint for all {what}; set "
                "the same one, or remove `file_system_scheme` of the source",
            )
