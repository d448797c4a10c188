"""Addresses of objects in a bucket, such as `s3://bucket/key`."""

from collections.abc import Sequence

from headwater.errors import UsageError


def parse_bucket_address(address: str, schemes: Sequence[str], buckets: Sequence[str], example: str) -> str:
    """Return the key of an address in one of the buckets; a key alone is returned unchanged.

    The first bucket is where the objects are now; `example` is the address of a key in it.

    Raises `UsageError` for an address elsewhere.
    """
    scheme, separator, rest = address.partition("://")
    if not separator:
        return address
    # `urlsplit` would break keys, which may contain `#` and `?`.
    bucket, _, key = rest.partition("/")
    if scheme not in schemes or bucket not in buckets:
        raise UsageError(
            f"{address} is not in the source bucket {buckets[0]}",
            hint=f"addresses look like {example}",
        )
    return key
