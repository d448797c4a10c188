"""`headwater alerts`: alerting rules for Prometheus, and a dashboard for Grafana."""

from typing import TYPE_CHECKING, Annotated

import typer

from headwater.cli.invocation import Invocation
from headwater.cli.rendering import render_json, render_text
from headwater.errors import UsageError

if TYPE_CHECKING:
    from headwater.config.settings import Settings
    from headwater.observability.alerting.queries import Objectives

_JOB = "headwater"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("alerts")(alerts)


def alerts(
    ctx: typer.Context,
    dashboard: Annotated[
        bool, typer.Option("--dashboard", help="Print a Grafana dashboard as JSON instead.")
    ] = False,
    job: Annotated[
        str, typer.Option("--job", metavar="NAME", help="Scrape job in Prometheus of the runs of this lake.")
    ] = _JOB,
) -> None:
    """Print Prometheus alerting rules for the objectives in `slo`, as YAML.

    They depend on the configuration only: print them again after a change of `slo`.
    """
    from headwater.observability.alerting.dashboard import build_dashboard
    from headwater.observability.alerting.rules import build_rules

    if not job or any(character in job for character in '"\\\n'):
        raise UsageError(
            f"{job!r} is not the name of a scrape job", hint="use job_name of Prometheus's scrape_configs"
        )
    settings = Invocation.of(ctx).load_settings()
    objectives = read_objectives(settings)
    if dashboard:
        render_json(build_dashboard(settings.lake, objectives, job))
    else:
        render_text(format_yaml(build_rules(settings.lake, objectives, job)))


def read_objectives(settings: "Settings") -> "Objectives":
    """Return the objectives of the configuration."""
    from headwater.observability.alerting.queries import Objectives

    slo = settings.slo
    return Objectives(slo.fresh, slo.complete, slo.target)


def format_yaml(content: object) -> str:
    """Return a YAML document without a final newline."""
    from io import StringIO

    from ruamel.yaml import YAML
    from ruamel.yaml.scalarstring import walk_tree

    yaml, text = YAML(), StringIO()
    yaml.default_flow_style = False
    # Long expressions stay on one line, and those of several lines become block scalars.
    yaml.width = 10_000
    walk_tree(content)
    yaml.dump(content, text)
    return text.getvalue().rstrip("\n")
