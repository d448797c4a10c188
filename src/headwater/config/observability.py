"""`observability:` how a run can be watched from outside."""

from typing import Annotated

from pydantic import AfterValidator, Field

from headwater.config.listen_address import check_listen_address
from headwater.config.section import Section


class ObservabilityConfig(Section):
    """How a run can be watched from outside."""

    listen: Annotated[str, AfterValidator(check_listen_address)] | None = Field(
        None,
        description="Address, as host:port, on which `headwater run` serves `/metrics`, `/healthz` and "
        "`/readyz`; without authentication. Default: no server. `--metrics-port` takes precedence.",
        examples=["127.0.0.1:9108", "[::]:9108"],
    )
