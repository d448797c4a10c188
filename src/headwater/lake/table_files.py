"""Accesses the files of a table, in a folder or an object store, without a JVM."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Protocol, cast
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

_CONNECT_SECONDS = 10
# pyarrow's 3 seconds without progress are too short for a store that is busy with several large uploads.
_COPY_SECONDS = 60
_COPY_TRIES = 10
# Google's client retries for 15 minutes by default.
_GCS_RETRIES = timedelta(seconds=20)


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file; `path` is relative to the table, `size` is in bytes."""

    path: str
    size: int

    @property
    def name(self) -> str:
        """The file name without its folder."""
        return self.path.rpartition("/")[2]

    @property
    def folder(self) -> str:
        """The folder relative to the table; empty for the table's own folder."""
        return self.path.rpartition("/")[0]


class TableFiles(Protocol):
    """The files of one table, by paths relative to it."""

    def list_sizes(self, folder: str) -> dict[str, int]:
        """Return sizes in bytes of the files in a folder by name; empty for an absent folder."""
        ...

    def read(self, path: str) -> bytes:
        """Read a file completely."""
        ...


class ArrowFiles:
    """`TableFiles` through pyarrow, without a JVM. All methods raise `OSError`."""

    def __init__(self, path: str, options: Mapping[str, str]) -> None:
        self._system, self._root = open_file_system(path, options)

    def list_sizes(self, folder: str) -> dict[str, int]:
        """See `TableFiles.list_sizes`."""
        from pyarrow.fs import FileSelector

        files = self._system.get_file_info(FileSelector(f"{self._root}/{folder}", allow_not_found=True))
        return {file.base_name: file.size or 0 for file in files}

    def read(self, path: str) -> bytes:
        """See `TableFiles.read`."""
        with self._system.open_input_file(f"{self._root}/{path}") as file:
            return cast("bytes", file.read())


def open_file_system(
    path: str, options: Mapping[str, str], *, copies: bool = False
) -> "tuple[FileSystem, str]":
    """Return the file system of an absolute folder or URL, and the path in it. Raises `OSError`.

    `copies`: large files are written. Uploads then wait for each part, since pyarrow would buffer parts
    without limit. Requests may take longer, and are retried more often.
    """
    from pyarrow import fs

    url = urlsplit(path)
    if not url.scheme:
        return fs.LocalFileSystem(), path
    if url.scheme == "gs":
        return _open_gcs(options), f"{url.netloc}{url.path}"
    if url.scheme in ("abfs", "abfss"):
        return _open_azure(options), f"{url.username}{url.path}"
    if url.scheme != "s3":
        system, root = fs.FileSystem.from_uri(path)
        return system, root
    endpoint = urlsplit(options.get("aws_endpoint", ""))
    return (
        fs.S3FileSystem(
            access_key=options.get("aws_access_key_id"),
            secret_key=options.get("aws_secret_access_key"),
            session_token=options.get("aws_session_token"),
            anonymous=options.get("aws_skip_signature") == "true",
            region=options.get("aws_region"),
            scheme=endpoint.scheme or "https",
            endpoint_override=endpoint.netloc or None,
            force_virtual_addressing=options.get("aws_virtual_hosted_style_request") == "true",
            connect_timeout=_CONNECT_SECONDS,
            request_timeout=_COPY_SECONDS if copies else None,
            retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=_COPY_TRIES if copies else 3),
            background_writes=not copies,
        ),
        f"{url.netloc}{url.path}",
    )


def replace_file(system: "FileSystem", path: str, content: bytes) -> None:
    """Write or replace a small file; readers see the previous content or the new one.

    Most object stores show an object when it is complete. A local file is visible while it is written, and
    pyarrow creates a blob of Azure empty.
    """
    written = f"{path}.tmp" if system.type_name in ("local", "abfs") else path
    with system.open_output_stream(written) as file:
        file.write(content)
    if written != path:
        system.move(written, path)


def _open_gcs(options: Mapping[str, str]) -> "FileSystem":
    """Return Cloud Storage with Google's default credentials, which pyarrow finds itself."""
    from pyarrow import fs

    endpoint = urlsplit(options.get("google_base_url", ""))
    return fs.GcsFileSystem(
        anonymous=options.get("google_skip_signature") == "true",
        scheme=endpoint.scheme or None,
        endpoint_override=endpoint.netloc or None,
        retry_time_limit=_GCS_RETRIES,
    )


def _open_azure(options: Mapping[str, str]) -> "FileSystem":
    """Return an account of Azure with a key or signature, else with the default chain of Azure's client."""
    from pyarrow import fs

    account, signature = options.get("azure_storage_account_name"), options.get("azure_storage_sas_key")
    if account is None:
        raise ValueError("it names no account: abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PATH")
    endpoint = urlsplit(options.get("azure_endpoint", ""))
    start, authority = f"{account}.blob.", endpoint.netloc
    hosts = {"blob_storage_authority": authority, "dfs_storage_authority": authority}
    if authority.startswith(start):
        # Another cloud. An authority without the dot is an emulator's: it has the account in the path.
        cloud = authority.removeprefix(start)
        hosts = {"blob_storage_authority": f".blob.{cloud}", "dfs_storage_authority": f".dfs.{cloud}"}
    schemes = {"blob_storage_scheme": endpoint.scheme, "dfs_storage_scheme": endpoint.scheme}
    return fs.AzureFileSystem(
        account_name=account,
        account_key=options.get("azure_storage_account_key"),
        # pyarrow appends it to a URL.
        sas_token=f"?{signature.lstrip('?')}" if signature else None,
        **(hosts | schemes if authority else {}),
    )
