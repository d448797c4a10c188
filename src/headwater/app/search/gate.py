"""Decides whether a new version may go live: by judged queries, or by checks that need none."""

from pathlib import Path

from headwater.config.search.retrieval import RetrievalConfig
from headwater.rag.embedding import Embedder
from headwater.rag.evaluation.files import read_judged
from headwater.rag.evaluation.metrics import score_run
from headwater.rag.evaluation.report import passes_gate
from headwater.rag.evaluation.runs import run_retriever
from headwater.rag.index_rules import read_chunks_fingerprint
from headwater.rag.retrieval.retriever import Retriever
from headwater.rag.syncing.versions import Gate, LiveVersion, Verdict, judge_by_canaries
from headwater.rag.vector_stores.protocol import Index


def build_gate(queries: Path, judgements: Path, embedder: Embedder, config: RetrievalConfig) -> Gate:
    """Return the gate that runs the judged queries on both versions. Raises `UsageError` for invalid
    files."""
    judged = read_judged(None, queries, judgements)

    def judge(live: LiveVersion | None, new: Index) -> Verdict:
        plain = judge_by_canaries(live, new)
        if not plain.passed:
            return plain
        # Query vectors of one model mean nothing in the vector space of another.
        is_comparable = live is not None and (
            read_chunks_fingerprint(live.spec) == read_chunks_fingerprint(new.spec)
        )
        before = (
            score_run(run_retriever(Retriever(live.open(), embedder, config), judged), judged.gains)
            if live is not None and is_comparable
            else None
        )
        after = score_run(run_retriever(Retriever(new, embedder, config), judged), judged.gains)
        verdict = passes_gate(before, after)
        reason = verdict.reason
        if live is not None and not is_comparable:
            reason = "the live version uses another model or other texts and cannot be compared"
        return Verdict(verdict.passed, reason, {**plain.figures, "ndcg@10_change": verdict.difference.mean})

    return judge
