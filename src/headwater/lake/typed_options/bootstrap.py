"""What turns a write into a bootstrap: the files of a folder become those of a table."""

from typing import Literal

BootstrapMode = Literal["metadata_only", "full_record"]
BOOTSTRAPPED_PROPERTY = "hoodie.bootstrap.base.path"
"""Of a table: where the files lie that it was made of."""
BOOTSTRAP_INDEX_FOLDER = ".hoodie/.aux/.bootstrap/.fileids"
"""Below a table's path; says which of its files have their rows elsewhere, and is empty where none has."""

_SELECTOR = "org.apache.hudi.client.bootstrap.selector.BootstrapRegexModeSelector"
_PROVIDERS = {
    "parquet": "org.apache.hudi.bootstrap.SparkParquetBootstrapDataProvider",
    "orc": "org.apache.hudi.bootstrap.SparkOrcBootstrapDataProvider",
}


def bootstrap_options(source: str, file_format: str, mode: BootstrapMode, regex: str) -> dict[str, str]:
    """Beside those of a write. Partitions whose whole path `regex` matches get the mode, others the other."""
    return {
        "hoodie.datasource.write.operation": "bootstrap",
        BOOTSTRAPPED_PROPERTY: source,
        "hoodie.bootstrap.mode.selector": _SELECTOR,
        "hoodie.bootstrap.mode.selector.regex": regex,
        "hoodie.bootstrap.mode.selector.regex.mode": mode.upper(),
        "hoodie.bootstrap.full.input.provider": _PROVIDERS[file_format],
    }
