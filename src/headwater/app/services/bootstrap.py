"""Bootstraps a configured table from existing files, so that the next run continues it."""

from headwater.capture.events_table import EventsTable
from headwater.config.table import TableConfig
from headwater.ingest.committed_state import begin_with
from headwater.ingest.planning.progress import begin
from headwater.ingest.writing.table_writer import TableWriter
from headwater.lake.layout import events_path
from headwater.lake.migration import bootstrapping
from headwater.lake.migration.bootstrap_plan import BootstrapPlan, BootstrapRequest
from headwater.lake.service_table import ServiceTable
from headwater.lake.table import Table


def bootstrap_table(
    table: ServiceTable, config: TableConfig, request: BootstrapRequest, lake: str
) -> BootstrapPlan:
    """Plan, create, and write the metadata that a run needs: the columns, and the checkpoint of a table that
    begins now. Raises what `plan_bootstrap` and `bootstrap` do.
    """
    plan = bootstrapping.plan_bootstrap(table, config, request)
    made = Table(table.spark, table.address.path)
    # The folders exist already, with their names.
    config = config.model_copy(update={"url_encode_partitions": bool(config.url_encode_partitions)})
    writer = TableWriter(table.address.name, config, made)
    bootstrapping.bootstrap(table, plan, request, writer.build_options())
    # Hudi's bootstrap adds no headwater metadata to its commit.
    progress = begin(config.start_from, EventsTable(table.spark, events_path(lake)).find_newest)
    writer.begin(begin_with(made, config, progress).to_metadata())
    return plan
