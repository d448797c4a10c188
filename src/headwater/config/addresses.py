"""Rejects addresses such as `s3://bucket/key` where only a bucket name or a key is allowed."""

import re

ADDRESS = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):/+(?P<bucket>[^/]*)/*(?P<rest>.*)", re.DOTALL)


def check_bucket_name(bucket: str) -> str:
    """Return the bucket name unchanged. Raises `ValueError` for an address or a path."""
    if bucket.startswith("arn:"):
        return bucket
    address = ADDRESS.fullmatch(bucket.strip())
    if address is None:
        name, _, rest = bucket.strip().strip("/").partition("/")
    else:
        name, rest = address["bucket"], address["rest"]
    if name == bucket:
        return bucket
    prefix = f" and `prefix: {rest.rstrip('/')}/`" if rest else ""
    raise ValueError(f"{bucket!r} is not a bucket name; write `bucket: {name or 'NAME'}`{prefix}")
