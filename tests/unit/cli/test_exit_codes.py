"""Every exit code of every command, from prepared reports: no Spark, no source.

`FAILING` names each `raise typer.Exit(CODE)` of the command line; a new one without a case fails here.
"""

import ast
import json
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import headwater.cli
from headwater.app.adoption.report import AdoptedTable, AdoptReport, ImportReport
from headwater.app.cleaning import CleanReport
from headwater.app.components import RunReport
from headwater.app.erasure.command import Checked
from headwater.app.erasure.report import ErasureReport, Remaining, Structure
from headwater.app.objects.redrive import RetryReport
from headwater.app.objects.verify import TableReport, VerifyReport
from headwater.app.provisioning import UpReport
from headwater.app.reconcile import ReconcileReport
from headwater.app.rehearsal import RehearsalReport, TableRehearsal
from headwater.app.rehearsal.steps import Application
from headwater.app.search.index import IndexStatus
from headwater.app.services.worker import PassReport
from headwater.capture.consumer import CaptureStats
from headwater.capture.reconcile import ReconcilePass
from headwater.cli.main import app
from headwater.demo.report import Report
from headwater.errors import LakeError, SourceError
from headwater.ingest.planning import verification
from headwater.ingest.rehearsal.differences import QuarantineDifferences, RowDifferences, SchemaDifferences
from headwater.lake.damage import FileCheck
from headwater.lake.services.metadata_table import MetadataCheck
from headwater.rag.syncing.sync import SyncReport
from headwater.rag.syncing.versions import BuildReport, Verdict
from headwater.sources.finding import SetupFinding
from headwater.sources.provisioner import Plan
from tests.fixtures.lakes import write_config

NOW = datetime(2026, 6, 1, tzinfo=timezone.utc)
BROKEN = LakeError("the lake is gone", hint="bring it back")
GOOD_FINDING, PROBLEM = (
    SetupFinding("queue", "ok", "fine"),
    SetupFinding("queue", "problem", "none", "make one"),
)


@dataclass
class Case:
    """A command, what its parts report, and the code it ends with. `exit` is the `raise` it needs."""

    name: str
    words: tuple[str, ...]
    code: int
    patches: dict[str, Any]
    exit: str = ""


def returns(value: object) -> Callable[..., object]:
    return lambda *_args, **_options: value


def raises(error: Exception) -> Callable[..., object]:
    def fail(*_args: object, **_options: object) -> object:
        raise error

    return fail


def run_case(name: str, code: int, *, once: bool = False, quarantined: int = 0, **report: Any) -> Case:
    given = RunReport(CaptureStats(), {}, report.pop("failures", {}), **report)
    patches = {
        "headwater.cli.run.run_app": returns(given),
        "headwater.cli.run.count_quarantined": returns(quarantined),
    }
    exits = {0: "", 1: "run:FAILED", 3: "run:INCOMPLETE"}
    return Case(f"run: {name}", ("run", *(["--once"] if once else [])), code, patches, exits[code])


def reconcile_case(
    name: str, code: int, *words: str, missing: int = 0, finished: datetime | None = NOW
) -> Case:
    done = ReconcilePass("p", "b", "", "listing", NOW, finished_at=finished, listed=5, missing=missing)
    patches = {"headwater.cli.objects.reconcile.run_reconcile": returns({"": ReconcileReport(done)})}
    exits = {0: "", 1: "objects.reconcile:FAILED", 3: "objects.reconcile:INCOMPLETE"}
    return Case(f"reconcile: {name}", ("reconcile", *words), code, patches, exits[code])


def clean_case(name: str, code: int, finished: datetime | None = NOW, **results: int) -> Case:
    report = CleanReport("tag", False, NOW, finished, Counter(due=3), Counter(results))
    patches = {"headwater.cli.objects.clean_source.run_clean": returns({"": report})}
    exits = {0: "", 1: "objects.clean_source:FAILED", 3: "objects.clean_source:INCOMPLETE"}
    return Case(f"clean-source: {name}", ("clean-source",), code, patches, exits[code])


def retry_case(name: str, code: int, tried: int, resolved: int) -> Case:
    patches = {
        "headwater.cli.objects.quarantine._choose": returns([]),
        "headwater.cli.objects.quarantine.open_app": returns(nullcontext()),
        "headwater.app.objects.redrive.Redrive": returns(
            SimpleNamespace(retry=returns(RetryReport(tried, resolved)))
        ),
    }
    needs = "objects.quarantine:INCOMPLETE" if code else ""
    return Case(f"quarantine retry: {name}", ("quarantine", "retry"), code, patches, needs)


def adopt_case(rejected: int, code: int) -> Case:
    report = AdoptReport([AdoptedTable("orders", "adopted", "1", 2, 3)], ImportReport(5, 0, rejected))
    patches = {
        "headwater.cli.lake.adopt.open_app": returns(nullcontext()),
        "headwater.app.adoption.adoption.Adoption": returns(SimpleNamespace(run=returns(report))),
    }
    needs = "lake.adopt:INCOMPLETE" if code else ""
    return Case(f"adopt: {rejected} rejected", ("adopt", "--events", "s3a://x/e"), code, patches, needs)


def forget_case(code: int, *words: str, remaining: tuple[Remaining, ...] = ()) -> Case:
    structures = (Structure("orders", remaining=remaining),)
    report = ErasureReport("orders", ("id",), ("h1",), "", "", structures)
    stub = SimpleNamespace(run=returns(report), plan=returns(report))
    register = SimpleNamespace(find_secret=returns(None), ensure_secret=returns(None))
    patches = {
        "headwater.cli.objects.forget.open_app": returns(nullcontext(SimpleNamespace(register=register))),
        "headwater.app.erasure.command.build_erasures": returns([stub]),
        "headwater.app.erasure.command.check_report": returns(Checked("r.json", report)),
    }
    needs = "objects.forget:INCOMPLETE" if code else ""
    name = f"forget: {len(remaining)} remaining {words}"
    return Case(name, ("forget", "orders", *words), code, patches, needs)


def rehearse_case(code: int, *words: str, changed: int = 0) -> Case:
    rows = RowDifferences(equal=3, changed=changed)
    table = TableRehearsal(
        state="same",
        keys=(),
        objects=2,
        failure_now="",
        failure_new="",
        schema=SchemaDifferences(),
        rows=rows,
        quarantine=QuarantineDifferences(),
        application=Application("nothing"),
    )
    report = RehearsalReport("the window", 2, {"orders": table}, (), (), ())
    app = SimpleNamespace(with_settings=returns(None))
    patches = {
        "headwater.app.App": returns(app),
        "headwater.app.command.prepare_app": returns(nullcontext(app)),
        "headwater.app.rehearsal.Rehearsal": returns(SimpleNamespace(run=returns(report))),
        "headwater.app.rehearsal.replacing.read_new_file": returns(SimpleNamespace(settings=None)),
        "headwater.app.rehearsal.applying.apply_file": returns(Path("headwater.yaml.before-1")),
    }
    needs = "objects.rehearse:DIFFERENT" if code else ""
    name = f"rehearse: {changed} changed {words}"
    return Case(name, ("rehearse", "--with", "new.yaml", *words), code, patches, needs)


def verify_case(kind: verification.FindingKind, code: int, *words: str) -> Case:
    table = TableReport(watermark=NOW)
    table.counts.add(verification.Finding(kind, "a.json", ""))
    stub = SimpleNamespace(run=returns(VerifyReport(NOW, {"orders": table}, NOW)), repair=returns(0))
    patches = {
        "headwater.cli.objects.verify.open_app": returns(nullcontext()),
        "headwater.app.objects.verify.Verify": returns(stub),
    }
    needs = "objects.verify:INCOMPLETE" if code else ""
    return Case(f"verify: {kind} {words}", ("verify", *words), code, patches, needs)


def build_case(code: int, *, is_live: bool) -> Case:
    report = BuildReport("v0001", 5, is_live, Verdict(is_live, "nDCG@10"), SyncReport())
    index = SimpleNamespace(close=returns(None), build=returns(report), optimize=returns(None))
    patches = {
        "headwater.cli.search.index.open_index": returns(index),
        "headwater.app.search.chunks.ensure_chunks": returns(None),
    }
    needs = "search.index:FAILED" if code else ""
    return Case(f"index build: live {is_live}", ("index", "build"), code, patches, needs)


def index_case(code: int, *words: str, divergent: int | None = None, problem: str | None = None) -> Case:
    found = IndexStatus("orders", "m", "v1", (), 0.0, divergent, NOW, 1, 0, problem)
    index = SimpleNamespace(close=returns(None), read_status=returns(found))
    patches = {"headwater.cli.search.index.open_index": returns(index)}
    exits = {0: "", 1: "search.index:FAILED", 3: "search.index:INCOMPLETE"}
    name = f"index status: divergent {divergent}, problem {problem}"
    return Case(name, ("index", "status", *words), code, patches, exits[code])


def plan_case(command: str, code: int, *words: str, problems: tuple[SetupFinding, ...] = ()) -> Case:
    plan = Plan(problems=problems)
    patches = {
        "headwater.app.provisioning.plan_resources": returns(plan),
        "headwater.app.provisioning.plan_removal": returns(plan),
    }
    needs = "source.resources:FAILED" if code else ""
    return Case(f"{command}: {len(problems)} problems", (command, *words), code, patches, needs)


def up_case(code: int, probe: SetupFinding) -> Case:
    patches = {"headwater.app.provisioning.set_up": returns(UpReport(Plan(), (), (probe,)))}
    return Case(f"up: {probe.status}", ("up",), code, patches, "source.resources:FAILED" if code else "")


def services_case(code: int, **failures: LakeError) -> Case:
    report = PassReport((), dict(failures))
    patches = {
        "headwater.app.App": returns(SimpleNamespace(close=returns(None), find_jvm_process=returns(None))),
        "headwater.app.preflight.check_before_services": returns(None),
        "headwater.app.services.writer_lease.hold_for_service": returns(
            nullcontext(SimpleNamespace(add_process=returns(None)))
        ),
        "headwater.app.duty.list_served": returns([]),
        "headwater.app.services.worker.ServicesWorker": returns(SimpleNamespace(run_pass=returns(report))),
    }
    needs = "tables.services_run:FAILED" if code else ""
    name = f"services run: {len(failures)} failures"
    return Case(name, ("services", "run", "--once"), code, patches, needs)


def sync_case(code: int, error: LakeError | None) -> Case:
    from headwater.app.catalogs import TableSync

    catalogs = SimpleNamespace(
        list_catalogs=returns(["glue"]), sync=returns(TableSync("glue", "t", "d", error=error))
    )
    patches = {"headwater.app.catalogs.CatalogSync": returns(catalogs)}
    needs = "tables.sync:FAILED" if code else ""
    return Case(f"table sync: {error}", ("table", "orders_cow", "sync"), code, patches, needs)


def demo_case(code: int, report: Report | None) -> Case:
    patches = {
        "headwater.demo.demo.run_demo": returns(report),
        "headwater.cli.demo.open_console": returns(nullcontext()),
    }
    exits = {0: "", 1: "demo:FAILED", 130: "demo:INTERRUPTED"}
    return Case(f"demo: {report}", ("demo",), code, patches, exits[code])


def doctor_case(code: int, finding: SetupFinding) -> Case:
    patches = {"headwater.app.doctor.diagnose": returns([finding])}
    return Case(f"doctor: {finding.status}", ("doctor",), code, patches, "doctor:FAILED" if code else "")


def check_case(code: int, *problems: str) -> Case:
    patches = {"headwater.lake.damage.check_files": returns(FileCheck(5, (), (), problems))}
    needs = "tables.maintenance.check:CORRUPT" if code else ""
    return Case(f"table check: {problems}", ("table", "orders_cow", "check"), code, patches, needs)


def validate_case(code: int, *lost: str) -> Case:
    patches = {
        "headwater.cli.tables.maintenance.metadata.open_table": returns(nullcontext()),
        "headwater.lake.services.metadata_table.validate_metadata": returns(MetadataCheck(5, lost)),
    }
    needs = "tables.maintenance.metadata:FAILED" if code else ""
    words = ("table", "orders_cow", "metadata", "validate")
    return Case(f"table metadata validate: {lost}", words, code, patches, needs)


def spark_case(code: int, error: Exception | None = None) -> Case:
    tables = SimpleNamespace(present=[], absent={})
    shell = SimpleNamespace(session=None, tables=tables)
    patches = {
        "headwater.cli.spark.command._open_shell": returns(nullcontext((shell, None))),
        "headwater.cli.spark.python.runpy.run_path": raises(error) if error else returns({}),
    }
    return Case(f"spark: {error}", ("spark", __file__), code, patches, "spark.python:FAILED" if code else "")


FAILURE = SourceError("the listing failed")
CASES = [
    run_case("nothing to report", 0),
    run_case("once, nothing in quarantine", 0, once=True),
    run_case("stopped with something in quarantine", 0, quarantined=2),
    run_case("once with something in quarantine", 3, once=True, quarantined=2),
    run_case("a table failed", 1, failures={"orders": BROKEN}),
    run_case("once, a table failed", 1, once=True, quarantined=2, failures={"orders": BROKEN}),
    run_case("the listing failed", 1, once=True, component_failures={"reconcile": FAILURE}),
    run_case("cleaning failed", 1, once=True, component_failures={"clean-source": FAILURE}),
    run_case("the index failed", 1, once=True, component_failures={"index": BROKEN}),
    reconcile_case("nothing differs", 0, "--dry-run"),
    reconcile_case("something differs and is written", 0, missing=2),
    reconcile_case("something differs", 3, "--dry-run", missing=2),
    reconcile_case("stopped", 1, finished=None),
    reconcile_case("stopped with differences", 1, "--dry-run", missing=2, finished=None),
    clean_case("all cleaned", 0, cleaned=3),
    clean_case("one failed", 3, cleaned=2, failed=1),
    clean_case("stopped", 1, None, cleaned=1),
    clean_case("stopped and one failed", 1, None, failed=1),
    retry_case("all resolved", 0, 2, 2),
    retry_case("nothing to retry", 0, 0, 0),
    retry_case("one is still bad", 3, 2, 1),
    adopt_case(0, 0),
    adopt_case(2, 3),
    forget_case(0),
    forget_case(0, "--yes"),
    forget_case(0, remaining=(Remaining("a.parquet", 1),)),
    forget_case(3, "--yes", remaining=(Remaining("a.parquet", 1),)),
    forget_case(0, "--check", "r.json"),
    forget_case(3, "--check", "r.json", remaining=(Remaining("a.log", 0, "a log file"),)),
    rehearse_case(0),
    rehearse_case(3, changed=1),
    rehearse_case(0, "--apply", changed=1),
    verify_case("ingested", 0),
    verify_case("pending", 0),
    verify_case("missing", 3),
    verify_case("wrong_rows", 3, "--deep"),
    verify_case("missing", 3, "--repair"),
    verify_case("quarantined", 3),
    build_case(0, is_live=True),
    build_case(1, is_live=False),
    index_case(0),
    index_case(0, "--compare", divergent=0),
    index_case(3, "--compare", divergent=4),
    index_case(1, problem="connection refused"),
    index_case(1, "--compare", divergent=4, problem="connection refused"),
    plan_case("plan", 0),
    plan_case("plan", 1, problems=(PROBLEM,)),
    plan_case("up", 1, "--dry-run", problems=(PROBLEM,)),
    plan_case("down", 0, "--yes"),
    plan_case("down", 1, "--dry-run", problems=(PROBLEM,)),
    up_case(0, GOOD_FINDING),
    up_case(1, PROBLEM),
    services_case(0),
    services_case(1, orders=BROKEN),
    sync_case(0, None),
    sync_case(1, BROKEN),
    demo_case(0, Report(("fine",))),
    demo_case(1, Report((), ("a row is missing",))),
    demo_case(130, None),
    doctor_case(0, GOOD_FINDING),
    doctor_case(0, SetupFinding("queue", "warning", "old")),
    doctor_case(1, PROBLEM),
    check_case(0),
    check_case(3, "the rows of a commit are gone"),
    validate_case(0),
    validate_case(1, "a.parquet"),
    spark_case(0),
    spark_case(1, ZeroDivisionError("division by zero")),
    Case("config check: good", ("config", "check"), 0, {}),
    Case("version", ("--version",), 0, {}, "main:"),
]


def invoke(case: Case, folder: Path, monkeypatch: pytest.MonkeyPatch, *extra: str) -> Result:
    for target, value in case.patches.items():
        monkeypatch.setattr(target, value)
    return CliRunner().invoke(app, ["-c", str(write_config(folder)), *case.words, *extra])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_exit_code(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = invoke(case, tmp_path, monkeypatch)
    assert done.exit_code == case.code, done.output


@pytest.mark.parametrize(
    "case",
    [case for case in CASES if case.words[0] not in ("demo", "spark", "--version")],
    ids=lambda case: case.name,
)
def test_exit_code_is_the_same_with_json(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = invoke(case, tmp_path, monkeypatch, "--json")
    assert done.exit_code == case.code, done.output
    json.loads(done.stdout)


def test_every_exit_of_the_command_line_has_a_case() -> None:
    root = Path(headwater.cli.__file__).parent
    found = Counter(
        f"{'.'.join(path.relative_to(root).with_suffix('').parts)}:{name}"
        for path in root.rglob("*.py")
        for function in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(function, ast.FunctionDef)
        for name in list_exits(function)
    )
    assert set(found) == {case.exit for case in CASES} - {""}


def list_exits(function: ast.FunctionDef) -> list[str]:
    """The codes that a function raises `typer.Exit` with, by their names."""
    raised = [node.exc for node in ast.walk(function) if isinstance(node, ast.Raise) and node.exc]
    texts = [ast.unparse(error) for error in raised]
    return [text.partition("(")[2].rstrip(")") for text in texts if text.startswith("typer.Exit")]


@pytest.mark.parametrize(
    "text",
    ["lakee: x\n", "tables: {a: {path: 'a', mode: nope}}\n", "[", ""],
    ids=["key", "value", "YAML", "empty"],
)
def test_bad_configuration_is_2_for_every_command(text: str, tmp_path: Path) -> None:
    config = tmp_path / "headwater.yaml"
    config.write_text(text)
    for words in (("config", "check"), ("run",), ("verify",), ("doctor",), ("status",), ("plan",)):
        done = CliRunner().invoke(app, ["-c", str(config), *words])
        assert (words, done.exit_code) == (words, 2), done.output
        assert done.stderr.startswith("error: ")


@pytest.mark.parametrize("error", [LakeError("x"), SourceError("x")])
def test_an_error_of_a_command_has_its_own_code(
    error: LakeError | SourceError, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_args: object, **_options: object) -> None:
        raise error

    monkeypatch.setattr("headwater.cli.run.run_app", fail)
    done = CliRunner().invoke(app, ["-c", str(write_config(tmp_path)), "run"])
    assert done.exit_code == error.exit_code == 1
