"""The report of a finished demo: from counts, tables and quarantine to text. Pure."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from headwater.demo.finale import FinaleReport
from headwater.demo.plain_reading import Expected, TableCheck, Unusable
from headwater.demo.progress import View, find_percentile
from headwater.demo.scenario import Scenario

Row = Mapping[str, object]
MAX_NAMED = 5
MAX_ROW_CHARS = 200
QUERIES = (
    "select status, count(*) as orders, round(sum(amount), 2) as amount from orders group by status",
    "select product_id, title, price, _headwater_object from products order by price desc limit 5",
)


@dataclass(frozen=True, slots=True)
class Findings:
    """The state of the lake after the pipeline has stopped.

    `checks` compare each table with a plain reading; `quarantine` are its rows; `event_keys` the key of each
    row of the events table. `dead_letters` are the messages in the dead-letter queue; `failures` the errors
    that ended tables; `scheme` begins the addresses of objects.
    """

    checks: Sequence[TableCheck]
    quarantine: Sequence[Row]
    event_keys: Sequence[str]
    dead_letters: int = 0
    failures: Sequence[str] = ()
    finale: FinaleReport | None = None
    scheme: str = "s3"


@dataclass(frozen=True, slots=True)
class Report:
    """Lines of text; `problems` is empty when every uploaded object has arrived exactly once."""

    lines: tuple[str, ...]
    problems: tuple[str, ...] = field(default=())


def build_report(
    scenario: Scenario, expected: Expected, findings: Findings, view: View, config_path: Path, command: str
) -> Report:
    """Build the report. `command` is headwater's command line on this machine."""
    problems = tuple(find_problems(scenario, expected, findings))
    lines = [
        *_write_arrivals(scenario, findings, view),
        "",
        *_write_quarantine(findings.quarantine, findings.scheme),
        "",
        *_write_freshness(view),
        "",
        *([*findings.finale.write_lines(), ""] if findings.finale else []),
        *_write_verdict(problems),
        "",
        *_write_commands(config_path, command),
    ]
    return Report(tuple(lines), problems)


def find_problems(scenario: Scenario, expected: Expected, findings: Findings) -> Iterator[str]:
    """Yield what is missing, extra or wrong, one sentence each."""
    yield from findings.failures
    for check in findings.checks:
        yield from _compare(f"table {check.table}: rows", check.missing, check.extra)
    announced, captured = sorted(scenario.announced_keys), sorted(findings.event_keys)
    yield from _compare("events", _subtract(announced, captured), _subtract(captured, announced))
    wanted = sorted(map(str, list_expected_unusable(scenario, expected)))
    found = sorted(str(_identify(row)) for row in findings.quarantine)
    yield from _compare("quarantine", _subtract(wanted, found), _subtract(found, wanted))
    yield from findings.finale.problems if findings.finale else ()
    if findings.dead_letters:
        yield f"{findings.dead_letters} messages went to the dead-letter queue"


def list_expected_unusable(scenario: Scenario, expected: Expected) -> list[Unusable]:
    """Return the expected quarantine: level, key and line."""
    uploaded = {put.key for put in scenario.puts}
    missing = [("object", key, 0) for key in scenario.announced_keys if key not in uploaded]
    return [*expected.unusable, *missing, *[("message", "", 0)] * scenario.poison_count]


def _identify(row: Row) -> Unusable:
    line = row["line"]
    return (str(row["level"]), str(row["key"] or ""), line if isinstance(line, int) else 0)


def _subtract(some: Sequence[str], others: Sequence[str]) -> list[str]:
    left = list(others)
    rest = []
    for one in some:
        if one in left:
            left.remove(one)
        else:
            rest.append(one)
    return rest


def _compare(what: str, missing: Sequence[str], extra: Sequence[str]) -> Iterator[str]:
    for word, found in (("missing", missing), ("unexpected", extra)):
        if found:
            named = "; ".join(text[:MAX_ROW_CHARS] for text in found[:MAX_NAMED])
            more = f"; and {len(found) - MAX_NAMED} more" if len(found) > MAX_NAMED else ""
            yield f"{what}, {len(found)} {word}: {named}{more}"


def _write_arrivals(scenario: Scenario, findings: Findings, view: View) -> Iterator[str]:
    yield (
        f"{len(scenario.puts):,} objects uploaded, {len(findings.event_keys):,} events captured in "
        f"{view.event_commits:,} commits; {scenario.resent_count} notifications came twice and count once."
    )
    yield ""
    yield "Ingested"
    rows = {check.table: check for check in findings.checks}
    for name, table in view.tables.items():
        equal = "equal to the uploads" if rows[name].is_equal else "NOT EQUAL to the uploads"
        yield (
            f"  {name:<10} {table.ingested:>5,} objects  {rows[name].rows:>7,} rows  "
            f"{table.commits:>4,} commits  {equal}"
        )
    if skipped := sum(table.skipped for table in view.tables.values()):
        yield f"  {skipped} objects contain no rows: an empty one and a folder marker."


def _write_quarantine(quarantine: Sequence[Row], scheme: str) -> Iterator[str]:
    yield f"Quarantined, with the reason ({len(quarantine)})"
    for row in sorted(quarantine, key=lambda row: str(row["quarantined_at"])):
        yield f"  {row['level']!s:<8} {_write_address(row, scheme)}"
        yield f"           {row['reason']}: {_shorten(str(row['detail']))}"
        if row["payload"]:
            yield f"           content: {_shorten(str(row['payload']))}"


def _write_address(row: Row, scheme: str) -> str:
    if not row["key"]:
        return str(row["message_id"])
    line = f", line {row['line']}" if row["line"] is not None else ""
    return f"{scheme}://{row['bucket']}/{row['key']}{line}"


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_ROW_CHARS else f"{line[:MAX_ROW_CHARS]}..."


def _write_freshness(view: View) -> Iterator[str]:
    values = [seconds for table in view.tables.values() for seconds in table.freshness]
    first = [table.first_freshness for table in view.tables.values() if table.first_freshness is not None]
    p50, p99 = find_percentile(values, 50), find_percentile(values, 99)
    if p50 is not None and p99 is not None:
        yield f"Freshness, PUT to committed: p50 {p50:.1f} s, p99 {p99:.1f} s, over {len(values):,} objects."
    if first:
        yield f"  Excluded: the first object of each table, {max(first):.1f} s while Spark warmed up."
    yield f"Total time: {view.elapsed:.0f} s."


def _write_verdict(problems: Sequence[str]) -> Iterator[str]:
    if not problems:
        yield (
            "Checked against an independent read of the bucket: every row is in its table exactly once, and "
            "there are no other rows."
        )
        return
    yield "Checked against an independent read of the bucket, with these differences:"
    for problem in problems:
        yield f"  - {problem}"


def _write_commands(config_path: Path, command: str) -> Iterator[str]:
    start = f"{shlex.quote(command)} --config {shlex.quote(str(config_path))}"
    yield "Next steps (the tables remain after the emulator stops):"
    for words in (("serve",), ("status",), *(("sql", query) for query in QUERIES), ("quarantine", "list")):
        yield f"  {start} {' '.join(word if word.isalpha() else quote_query(word) for word in words)}"


def quote_query(query: str) -> str:
    """Quote a query for a shell."""
    return f'"{query}"' if not set(query) & set('"$`\\!') else shlex.quote(query)
