"""`spark`: the session, its executors, and the addresses at which they reach the driver."""

import re
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from headwater.config.hudi.checking import (
    iter_option_problems,
    iter_option_warnings,
    list_session_options,
)
from headwater.config.problems.problem import KeyPath
from headwater.config.section import FieldNames, Section, SectionError, TextMap

_DRIVER_PYTHON = "spark.pyspark.driver.python"

_HOST = re.compile(r"\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?")


def _check_host(text: str) -> str:
    if _HOST.fullmatch(text):
        return text
    # Spark rejects its own URL of the driver if the host has an underscore.
    raise ValueError(
        f"{text!r} is no host; write a name or an address without scheme, port or underscore, such as "
        "driver.spark.svc, 10.0.3.17 or [fd00::1]"
    )


Host = Annotated[str, AfterValidator(_check_host)]
Port = Annotated[int, Field(ge=1024, le=65_535)]


class PoolConfig(Section):
    """Share of the session's cores that one fair scheduler pool gets."""

    weight: int = Field(1, ge=1, description="Relative share of the cores when all pools have work.")
    min_share: int = Field(0, ge=0, description="Minimum number of cores.")


class SparkConfig(Section):
    """Settings of the Spark session."""

    master: str = Field("local[*]", description="Spark master URL.")
    driver_memory: str | None = Field(
        None,
        pattern=r"^\d+[kmgtKMGT]?$",
        description="Heap size of the driver. Default: `2g`, or 512 MiB for each core of a `local` master if "
        "that is more, but at most half of the memory of the machine or container.",
        examples=["4g"],
    )
    driver_host: Host | None = Field(
        None,
        description="Host name or address at which executors reach the driver. Default: 127.0.0.1 for a "
        "`local` master, else the machine's host name.",
        examples=["10.0.3.17"],
    )
    driver_bind_address: Host | None = Field(
        None,
        description="Address on which the driver listens. Default: `driver_host`.",
        examples=["0.0.0.0"],  # noqa: S104 - an example of what a user may write
    )
    driver_port: Port | None = Field(
        None, description="Port of the driver for its executors. Default: any free port.", examples=[7078]
    )
    block_manager_port: Port | None = Field(
        None,
        description="Port on which the driver and each executor serve blocks. Default: any free port.",
        examples=[7079],
    )
    executor_jars: Literal["ship", "provided"] = Field(
        "ship",
        description="`ship`: executors get the jars of Hudi and of object stores from the driver. "
        "`provided`: they have them, such as in their image; the driver has those of `headwater prepare`.",
    )
    packages: FieldNames = Field((), description="Additional packages, as Maven coordinates.")
    pools: dict[str, PoolConfig] = Field(
        {},
        description="Shares of the cores by pool: a table's name (its batches), `services-NAME` (its table "
        "services), `capture`, `reconcile`, `retries`, `clean-source`, `index`.",
        examples=[{"capture": {"weight": 4, "min_share": 1}}],
    )
    config: TextMap = Field({}, description="Any `spark.*` setting; overrides headwater's.")

    def iter_warnings(self) -> Iterator[tuple[KeyPath, str]]:
        """Yield settings that are allowed, but maybe unintended, with their paths below the section."""
        for key, text in iter_option_warnings(list_session_options(self.config)):
            yield ("config", f"spark.{key}"), text
        if _DRIVER_PYTHON in self.config:
            text = "has no effect: the driver runs in the Python that runs headwater"
            yield ("config", _DRIVER_PYTHON), text

    @model_validator(mode="after")
    def _check_names(self) -> "SparkConfig":
        non_spark = [key for key in self.config if not key.startswith("spark.")]
        text = "unknown key {!r}: Spark's settings start with `spark.`"
        problems = [(("config", key), text.format(key)) for key in non_spark]
        for key, sentence in iter_option_problems(list_session_options(self.config)):
            problems.append((("config", f"spark.{key}"), sentence))
        if problems:
            raise SectionError(problems)
        return self

    @model_validator(mode="after")
    def _check_ports(self) -> "SparkConfig":
        if self.driver_port is not None and self.driver_port == self.block_manager_port:
            text = f"{self.block_manager_port} is also `driver_port`; choose another port"
            raise SectionError([(("block_manager_port",), text)])
        return self
