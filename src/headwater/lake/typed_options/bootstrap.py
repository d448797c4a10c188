"""Options that turn a write into a bootstrap of existing files."""

from typing import Literal

BootstrapMode = Literal["metadata_only", "full_record"]
BOOTSTRAPPED_PROPERTY = "hoodie.bootstrap.base.path"
"""Table property: the location of the bootstrap source files."""
BOOTSTRAP_INDEX_FOLDER = ".hoodie/.aux/.bootstrap/.fileids"
"""Relative to a table's path: the index of files whose rows are in source files; empty if there are none."""

_SELECTOR = "org.apache.hudi.client.bootstrap.selector.BootstrapRegexModeSelector"
_PROVIDERS = {
    "parquet": "org.apache.hudi.bootstrap.SparkParquetBootstrapDataProvider",
    "orc": "org.apache.hudi.bootstrap.SparkOrcBootstrapDataProvider",
}


def bootstrap_options(source: str, file_format: str, mode: BootstrapMode, regex: str) -> dict[str, str]:
    """Return bootstrap options in addition to those of a write.

    Partitions whose complete path matches `regex` use `mode`, others the other mode.
    """
    return {
        "hoodie.datasource.write.operation": "bootstrap",
        BOOTSTRAPPED_PROPERTY: source,
        "hoodie.bootstrap.mode.selector": _SELECTOR,
        "hoodie.bootstrap.mode.selector.regex": regex,
        "hoodie.bootstrap.mode.selector.regex.mode": mode.upper(),
        "hoodie.bootstrap.full.input.provider": _PROVIDERS[file_format],
    }
