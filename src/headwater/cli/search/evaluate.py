"""`headwater index eval`: the quality of query results, by ranking method."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from headwater.cli.invocation import Invocation, JsonFlag
from headwater.cli.rendering import render_json, render_table, render_text

if TYPE_CHECKING:
    from headwater.rag.evaluation.judged import JudgedSet
    from headwater.rag.evaluation.metrics import Run
    from headwater.rag.evaluation.report import Evaluation, SplitName


def register(group: typer.Typer) -> None:
    """Add the command."""
    group.command("eval")(evaluate)


def evaluate(  # noqa: PLR0913, PLR0917 - one parameter per option
    ctx: typer.Context,
    catalogue: Annotated[
        Path | None, typer.Option("--catalogue", help="JSON lines: id, title, description, other columns.")
    ] = None,
    queries: Annotated[
        Path | None, typer.Option("--queries", help="JSON lines: query_id, query; also kind, split.")
    ] = None,
    judgements: Annotated[
        Path | None,
        typer.Option(
            "--judgements", help="JSON lines: query_id, product_id, grade (E, S, C, I or a number)."
        ),
    ] = None,
    wands: Annotated[Path | None, typer.Option("--wands", help="Folder of the official WANDS files.")] = None,
    esci: Annotated[Path | None, typer.Option("--esci", help="Folder of the official ESCI files.")] = None,
    split: Annotated[
        Literal["held-out", "tuning", "all"], typer.Option("--split", help="Queries to evaluate.")
    ] = "held-out",
    configured: Annotated[
        bool,
        typer.Option("--configured", help="Evaluate the configured search, not the defaults."),
    ] = False,
    url: Annotated[
        str | None,
        typer.Option("--url", help="Evaluate a running server at this address, through POST /search."),
    ] = None,
    per_query: Annotated[
        Path | None, typer.Option("--per-query", help="Write figures and rows of each query: JSON lines.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Compare BM25, the embedder, their fusions and the ranking that answers queries on judged queries.

    Without options, evaluates the defaults on the catalogue shipped with headwater, and needs no
    configuration. With --configured, embedder, ranking and cross-encoder are those of `search`.
    With --url, a running server answers the queries: with its index, filters of the key's tenant, and limits.
    It needs no --catalogue, and reads its key from HEADWATER_API_KEY.
    """
    from headwater.config.extras.packages import ensure_extra
    from headwater.errors import UsageError

    ensure_extra("search", "`headwater index eval`")
    from headwater.rag.evaluation.files import write_lines
    from headwater.rag.evaluation.report import evaluate as build_report
    from headwater.rag.evaluation.report import list_queries

    if url is not None and configured:
        raise UsageError(
            "--url and --configured exclude each other",
            hint="the server at --url answers with its own configuration",
        )
    judged = _read(catalogue, queries, judgements, wands, esci, needs_catalogue=url is None)
    runs = _ask(url, judged, split) if url is not None else _run(ctx, judged, configured=configured)
    report = build_report(judged, runs, split)
    if per_query is not None:
        write_lines(per_query, list_queries(judged, runs, split))
    if as_json:
        render_json(report.to_json())
    else:
        render_report(report, judged)


def _run(ctx: typer.Context, judged: "JudgedSet", *, configured: bool) -> "dict[str, Run]":
    from headwater.app.search.wiring import build_reranker, find_search
    from headwater.config.search.index import EmbedderConfig
    from headwater.rag.embedding import build_embedder
    from headwater.rag.evaluation.runs import run_all

    if not configured:
        return run_all(judged, build_embedder(EmbedderConfig()))
    search = find_search(Invocation.of(ctx).load_settings())
    retrieval = search.retrieval
    return run_all(judged, build_embedder(search.embedder), retrieval, build_reranker(retrieval))


def _ask(url: str, judged: "JudgedSet", split: "SplitName") -> "dict[str, Run]":
    from headwater.config.environment import read_environment
    from headwater.config.search.keys import API_KEY_VARIABLE
    from headwater.rag.evaluation.report import select_queries
    from headwater.rag.evaluation.server import SERVER, SearchServer, run_server

    server = SearchServer(url, read_environment().get(API_KEY_VARIABLE, ""))
    return {SERVER: run_server(server, select_queries(judged, split))}


def _read(
    catalogue: Path | None,
    queries: Path | None,
    judgements: Path | None,
    wands: Path | None,
    esci: Path | None,
    *,
    needs_catalogue: bool,
) -> "JudgedSet":
    from headwater.errors import UsageError
    from headwater.rag.evaluation.files import read_judged, read_shipped
    from headwater.rag.evaluation.public_sets import read_esci, read_wands

    own = [path for path in (catalogue, queries, judgements) if path is not None]
    is_complete = queries is not None and judgements is not None and (catalogue or not needs_catalogue)
    if bool(own) + (wands is not None) + (esci is not None) > 1 or (own and not is_complete):
        raise UsageError(
            "--catalogue, --queries and --judgements require each other, and exclude --wands and --esci",
            hint="specify all three, or one folder, or none of them for the shipped catalogue; --url needs "
            "no --catalogue",
        )
    if queries is not None and judgements is not None:
        return read_judged(catalogue, queries, judgements)
    if wands is not None:
        return read_wands(wands)
    return read_shipped() if esci is None else read_esci(esci)


def render_report(report: "Evaluation", judged: "JudgedSet") -> None:
    """Print the report as text."""
    first = next(iter(report.runs.values()))
    products = f"{len(judged.products):,} products, " if judged.products else ""
    render_text(f"{products}{first.queries:,} queries ({report.split})\n")
    kinds = list(first.kinds)
    columns = ("run", "nDCG@10", "95 %", "recall@20", "MRR", "no results", *kinds)
    rows = [
        (
            name,
            f"{figures.ndcg:.3f}",
            f"{figures.interval[0]:.3f}-{figures.interval[1]:.3f}",
            f"{figures.recall:.3f}",
            f"{figures.mrr:.3f}",
            f"{figures.zero_results:.1%}",
            *(f"{figures.kinds[kind]:.3f}" for kind in kinds),
        )
        for name, figures in report.runs.items()
    ]
    render_table(columns, rows)
    if not report.differences:
        return
    render_text(f"\nChosen: {report.chosen}. nDCG@10 difference from")
    for name, one in report.differences.items():
        render_text(f"  {name}: {one.mean:+.3f} ({one.interval[0]:+.3f} to {one.interval[1]:+.3f})")
