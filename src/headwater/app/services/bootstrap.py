"""A table of the configuration is made of files that lie there, so that the next run goes on with it."""

from headwater.config.table import TableConfig
from headwater.ingest.committed_state import begin_with
from headwater.ingest.writing.table_writer import TableWriter
from headwater.lake.migration import bootstrapping
from headwater.lake.migration.bootstrap_plan import BootstrapPlan, BootstrapRequest
from headwater.lake.service_table import ServiceTable
from headwater.lake.table import Table


def bootstrap_table(table: ServiceTable, config: TableConfig, request: BootstrapRequest) -> BootstrapPlan:
    """Plan, make, and write down what a run asks of a table: its columns, and that no event was taken yet.

    Raises what `plan_bootstrap` and `bootstrap` do.
    """
    plan = bootstrapping.plan_bootstrap(table, config, request)
    made = Table(table.spark, table.address.path)
    # The folders are there already, by the names that they have.
    config = config.model_copy(update={"url_encode_partitions": bool(config.url_encode_partitions)})
    writer = TableWriter(table.address.name, config, made)
    bootstrapping.bootstrap(table, plan, request, writer.build_options())
    # Hudi's bootstrap puts nothing of ours into its commit.
    writer.write_checkpoint(begin_with(made, config).to_metadata())
    return plan
