"""`AzureSource`: a container in Azure Blob Storage with its queue, see `headwater.sources.source`."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from urllib.parse import unquote, urlsplit

from headwater.config.source import AzureSourceConfig
from headwater.observability.clock import Clock
from headwater.sources.azure.checks import check_azure_source, ensure_container, ensure_queue
from headwater.sources.azure.clients import build_blob_client
from headwater.sources.azure.lister import AzureLister
from headwater.sources.bucket_address import parse_bucket_address
from headwater.sources.finding import SetupFinding
from headwater.sources.lister import UnusablePath
from headwater.sources.object_store import ObjectStoreConfig

_SCHEMES = ("abfs", "abfss", "az")


class AzureSource:
    """Blobs of a container in Azure Blob Storage."""

    def __init__(self, config: AzureSourceConfig) -> None:
        self._config = config

    def build_store_config(self) -> ObjectStoreConfig:
        """See `Source`."""
        return ObjectStoreConfig(
            "azure",
            endpoint=self._config.endpoint,
            scheme="abfss",
            spark_reads=self._config.file_system_scheme is not None,
            spark_host=f"@{self._config.dfs_host}",
            name=self._config.account,
        )

    @contextmanager
    def open_lister(
        self, pace: Callable[[], None], on_unusable: Callable[[UnusablePath], None] | None = None
    ) -> Iterator[AzureLister]:
        """See `Source`. Every name in a container can be listed."""
        config = self._config
        lister = AzureLister(build_blob_client(config.account, config.endpoint), config.container, pace=pace)
        try:
            yield lister
        finally:
            lister.close()

    def parse_address(self, address: str) -> str:
        """See `Source`. An address is `abfs://container/name`, one for Spark, or the blob's URL."""
        container, account = self._config.container, self._config.account
        example = f"abfs://{container}/NAME"
        if address.startswith(("https://", "http://")):
            # The host names the account, or an emulator; only the path has to fit.
            address = f"abfs://{unquote(urlsplit(address).path).lstrip('/').removeprefix(f'{account}/')}"
        buckets = (container, f"{container}@{self._config.dfs_host}")
        return parse_bucket_address(address, _SCHEMES, buckets, example)

    def list_preflight_checks(self, *, captures: bool) -> Sequence[Callable[[], object]]:
        """See `Source`."""
        queue = [lambda: ensure_queue(self._config)] if captures else []
        return [lambda: ensure_container(self._config), *queue]

    def check(self, *, needs_removals: bool, clock: Clock) -> list[SetupFinding]:
        """See `Source`. Whether Event Grid sends removals cannot be asked."""
        return check_azure_source(self._config)
