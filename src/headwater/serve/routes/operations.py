"""`/healthz`, `/readyz`, `/metrics`, `/status`: for operators."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends
from fastapi.responses import JSONResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from headwater.serve.access import Caller
from headwater.serve.schemas import Health, Readiness
from headwater.serve.service import Service


def build_router(service: Service) -> APIRouter:
    """Build the routes. Health and readiness require no key, because probes have none."""
    router = APIRouter(tags=["operations"])
    Operator = Annotated[Caller, Depends(service.access.admit_operator)]  # noqa: N806 - a type, made from an object

    @router.get("/healthz", response_model=Health, summary="Check that the process responds")
    async def healthz() -> Health:
        return Health()

    @router.get(
        "/readyz",
        response_model=Readiness,
        responses={503: {"model": Readiness, "description": "Not ready; `reason` states why."}},
        summary="Check that the index exists and is fresh enough",
    )
    async def readyz() -> Response:
        found = judge_readiness(service)
        return JSONResponse(found.model_dump(), 200 if found.ready else 503)

    @router.get("/metrics", summary="Return metrics for Prometheus", response_class=Response)
    async def metrics(caller: Operator) -> Response:
        del caller
        lag = service.lag_seconds()
        service.metrics.set("index_lag_seconds", float("nan") if lag is None else lag)
        service.metrics.set("searches_open", service.pool.taken)
        return Response(generate_latest(service.metrics.registry), media_type=CONTENT_TYPE_LATEST)

    @router.get("/status", summary="Return the state of the pipeline and of the index")
    async def status(caller: Operator) -> dict[str, Any]:
        del caller
        pipeline, error = await service.pipeline.get()
        return {**describe_index(service), "pipeline": pipeline, "pipeline_error": error}

    return router


def describe_index(service: Service) -> dict[str, Any]:
    """Return the state of the index, and its recent age."""
    return {
        "now": service.now().isoformat(),
        "search": judge_readiness(service).model_dump(),
        "index_error": service.searcher.freshness().error,
        "freshness": [
            {"at": sample.at.isoformat(), "lag_seconds": sample.lag_seconds}
            for sample in list(service.history)
        ],
    }


def judge_readiness(service: Service) -> Readiness:
    """Return whether answers are fresh enough for the server to receive traffic, and the reason if not."""
    known, lag = service.searcher.freshness(), service.lag_seconds()
    most = service.config.ready_lag
    if not known.index_version:
        reason = "the index does not exist yet; it is being built"
    elif known.points == 0:
        reason = "the index is empty"
    elif lag is None:
        reason = "the age of the index is unknown"
    elif lag > most:
        reason = f"the index is {lag:.0f} s old; the limit is {most:g} s"
    else:
        reason = ""
    return Readiness(
        ready=not reason,
        reason=reason,
        index_version=known.index_version,
        as_of=known.as_of,
        lag_seconds=None if lag is None else round(lag, 3),
        ready_lag=most,
        rows=known.points,
    )
