"""The whole configuration: one YAML file plus the environment."""

from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from headwater.config.section import Section
from headwater.config.source import CaptureConfig, SourceConfig
from headwater.config.table import TableConfig

RESERVED_TABLE_NAMES = frozenset({"events", "quarantine", "ledger"})


def _check_table_name(name: str) -> str:
    if name in RESERVED_TABLE_NAMES:
        raise ValueError(f"{name!r} is the name of one of headwater's own tables; choose another")
    return name


TableName = Annotated[
    str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,127}$"), AfterValidator(_check_table_name)
]


class SparkConfig(Section):
    """How the Spark session is built."""

    master: str = Field("local[*]", description="Spark master URL.")
    driver_memory: str = Field("2g", pattern=r"^\d+[kmgtKMGT]?$", description="Heap of the driver.")
    packages: tuple[str, ...] = Field((), description="Further Maven coordinates.")
    config: dict[str, str] = Field({}, description="Any `spark.*` setting; wins over ours.")


class LakeStorageConfig(Section):
    """The S3-compatible store under an `s3a://` lake, when it is not AWS itself."""

    endpoint: str | None = Field(None, description="Endpoint of the store.")
    region: str | None = Field(None, description="Region of the store.")
    path_style: bool | None = Field(None, description="Default: true with an endpoint.")


class Settings(Section):
    """headwater.yaml."""

    source: SourceConfig
    lake: str = Field(min_length=1, description="Where the tables lie: a path, `s3a://` or any Hadoop path.")
    lake_storage: LakeStorageConfig = LakeStorageConfig()
    capture: CaptureConfig = CaptureConfig()
    tables: dict[TableName, TableConfig] = Field(min_length=1, description="Data tables by name.")
    spark: SparkConfig = SparkConfig()

    @model_validator(mode="after")
    def _check_local_lake(self) -> "Settings":
        if self.source.type == "local" and "://" not in self.lake:
            from pathlib import Path

            source, lake = self.source.path.resolve(), Path(self.lake).resolve()
            if lake.is_relative_to(source):
                raise ValueError(
                    f"the lake {str(lake)!r} lies inside the source folder {str(source)!r}: "
                    "headwater would ingest its own tables; put it elsewhere"
                )
        return self
