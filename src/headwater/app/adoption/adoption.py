"""`Adoption`: plans for all tables together, and writes nothing before all of them fit."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from headwater.app.adoption.checkpoints import Checkpoint, EventsCheckpoint, KafkaCheckpoint, find_bound
from headwater.app.adoption.event_import import EventImport
from headwater.app.adoption.report import AdoptReport, AdoptRequest
from headwater.app.adoption.survey import Survey
from headwater.app.adoption.topics import choose_offsets, iter_starts, list_conflicts, list_topic_problems
from headwater.app.application import App, read_clock
from headwater.app.scope import build_scope
from headwater.capture.announced_ranges import read_captured_ranges
from headwater.capture.old_events import OldEvents
from headwater.capture.position import BEGINNING
from headwater.config.source import KafkaSourceConfig
from headwater.errors import UsageError
from headwater.ingest.committed_state import begin_with
from headwater.ingest.planning.progress import Progress, adopt_at
from headwater.ingest.writing.table_writer import TableWriter
from headwater.lake.jvm import update_properties
from headwater.lake.layout import table_path
from headwater.lake.table import Table
from headwater.lake.typed_options.continuing import list_updates
from headwater.observability.crash_points import crash_point
from headwater.sources.kafka.topics import Topics


@dataclass(frozen=True, slots=True)
class _Plan:
    """The tables with their parsed checkpoints; the bounds of the rows that each of them has processed."""

    report: AdoptReport
    checkpoints: dict[str, Checkpoint]
    bounds: dict[str, str]
    offsets: dict[str, KafkaCheckpoint]


class Adoption:
    """Continues tables of one `App`. Raises `HeadwaterError`.

    `open_topics` opens the cluster of a source; `rows_a_commit` limits the commits of events.
    """

    def __init__(
        self,
        app: App,
        request: AdoptRequest,
        now: Callable[[], datetime] = read_clock,
        *,
        open_topics: Callable[[KafkaSourceConfig], Topics] | None = None,
        rows_a_commit: int = 20_000,
    ) -> None:
        self._app = app
        self._request = request
        self._now = now
        self._open_topics = open_topics or _open_cluster
        self._rows_a_commit = rows_a_commit
        self._survey = Survey(app, request, now)
        self._names = request.tables or tuple(self._survey.iter_candidates())

    def plan(self) -> AdoptReport:
        """Check all tables; return what `run` would do. Writes nothing.

        Raises `UsageError` with everything that does not fit.
        """
        return self._plan().report

    def run(self) -> AdoptReport:
        """Commit events and checkpoints. Call it inside `hold_for_command`. Raises as `plan` does.

        After an interruption, the next call continues.
        """
        plan = self._plan()
        if not plan.checkpoints:
            return plan.report
        events = self._import_events() if plan.bounds else None
        if events is not None:
            plan.report.events = events.run()
        self._begin_topics(plan.offsets)
        for one in plan.report.tables:
            if one.status == "to adopt":
                bound = plan.bounds.get(one.table)
                at = events.adopted.find_position(bound) if events and bound is not None else BEGINNING
                self._begin(one.table, adopt_at(at))
                one.status = "adopted"
                crash_point("after_adopted_table")
        return plan.report

    def _plan(self) -> _Plan:
        if not self._names:
            raise UsageError(
                f"no configured table has a commit of HoodieStreamer below {self._app.settings.lake}",
                hint="`lake` is the folder of the tables, and each table has the name of its folder",
            )
        problems: list[str] = [
            f"--checkpoint {name}: the table is not among those to adopt"
            for name in sorted(self._request.checkpoints.keys() - set(self._names))
        ]
        report, checkpoints = AdoptReport([]), dict[str, Checkpoint]()
        for name in self._names:
            found = self._survey.read(name)
            report.tables.append(found.row)
            problems += [f"table {name}: {problem}" for problem in found.problems]
            if found.checkpoint is not None:
                checkpoints[name] = found.checkpoint
        bounds = self._plan_events(checkpoints, report, problems)
        offsets = {name: c for name, c in checkpoints.items() if isinstance(c, KafkaCheckpoint)}
        if offsets and not problems:
            problems += self._list_topic_problems(offsets)
        if problems:
            raise UsageError("\n".join(problems), hint="nothing was written")
        return _Plan(report, checkpoints, bounds, offsets)

    def _plan_events(
        self, checkpoints: Mapping[str, Checkpoint], report: AdoptReport, problems: list[str]
    ) -> dict[str, str]:
        """Return the bounds of the tables with events; add their counts to the report, and the problems."""
        wanted = {name: c for name, c in checkpoints.items() if isinstance(c, EventsCheckpoint)}
        if not wanted or not self._request.events:
            return {}
        events = self._import_events()
        try:
            events.old.check()
        except UsageError as error:
            problems.append(f"{error.message}; {error.hint}")
            return {}
        if events.old.has_rows_after(events.adopted.find_last_mark()) and events.adopted.has_others(
            {bucket for name in wanted for bucket in build_scope(self._app.settings, name).buckets}
        ):
            problems.append(
                "the lake has already captured events of the bucket, which must follow those of the old "
                "events table; adopt the tables before the first `run`, in a lake without events"
            )
        commits = events.old.list_commits() if any(one.by_completion for one in wanted.values()) else ()
        bounds = {}
        for name, checkpoint in wanted.items():
            try:
                bounds[name] = find_bound(checkpoint, commits)
            except ValueError as error:
                problems.append(f"table {name}: {error}")
        total, processed = events.old.count_rows(list(bounds.values()))
        for one, count in zip((one for one in report.tables if one.table in bounds), processed, strict=True):
            one.processed, one.pending = count, total - count
        return bounds

    def _import_events(self) -> EventImport:
        old = OldEvents(self._app.spark, self._request.events)
        return EventImport(self._app, old, self._now, self._rows_a_commit)

    def _list_topic_problems(self, checkpoints: Mapping[str, KafkaCheckpoint]) -> list[str]:
        problems = list_conflicts(checkpoints)
        for source, of_source in () if problems else self._group_by_cluster(checkpoints):
            captured = read_captured_ranges(self._app.events, source.known_location)
            offsets = choose_offsets(of_source.values())
            problems += list_topic_problems(offsets, captured, self._open_topics(source))
        return problems

    def _begin_topics(self, checkpoints: Mapping[str, KafkaCheckpoint]) -> None:
        for source, of_source in self._group_by_cluster(checkpoints):
            topics, offsets = self._open_topics(source), choose_offsets(of_source.values())
            self._app.events.append(list(iter_starts(offsets, source.known_location, topics, self._now())))
            crash_point("after_adopted_events")

    def _group_by_cluster(
        self, checkpoints: Mapping[str, KafkaCheckpoint]
    ) -> list[tuple[KafkaSourceConfig, dict[str, KafkaCheckpoint]]]:
        groups: dict[str, tuple[KafkaSourceConfig, dict[str, KafkaCheckpoint]]] = {}
        for name, checkpoint in checkpoints.items():
            for source in self._app.settings.list_sources_of(name):
                if isinstance(source, KafkaSourceConfig):
                    groups.setdefault(source.known_location, (source, {}))[1][name] = checkpoint
        return list(groups.values())

    def _begin(self, name: str, progress: Progress) -> None:
        table = Table(self._app.spark, table_path(self._app.settings.lake, name))
        config = self._app.find_config(name)
        writer = TableWriter(name, config, table)
        properties = table.load_timeline().read_properties()
        if updates := list_updates(properties, writer.build_options().to_hoodie()):
            update_properties(self._app.spark, table.path, updates)
        writer.begin(begin_with(table, config, progress).to_metadata())


def _open_cluster(source: KafkaSourceConfig) -> Topics:
    from headwater.sources.kafka.cluster import Cluster, build_settings

    return Cluster(build_settings(source))
