"""Manuals in a folder become rows, section by section; a hostile one stops none of the others."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headwater.app import App
from headwater.app.objects.redrive import Redrive, RetryReport
from headwater.app.objects.verify import Verify
from headwater.capture.quarantine_reader import QuarantineReader
from headwater.lake.layout import quarantine_path
from tests.fixtures.documents.build import build_docx, build_pdf
from tests.fixtures.folder_lake import FolderLake


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> FolderLake:
    table = {"path": "**", "format": "document", "mode": "mirror"}
    return FolderLake(spark, tmp_path, manuals=table)


@pytest.mark.slow
def test_sections_become_rows_that_follow_their_document(lake: FolderLake) -> None:
    lake.put_many(
        [
            ("pump.pdf", build_pdf(["Hello", "World"], {0: "Start"})),
            ("guide.md", "# Care\nRinse.\n\n## When\nWeekly.\n"),
            ("parts.docx", build_docx()),
            ("bad.pdf", b"%PDF-1.7 garbage"),
        ]
    )
    lake.ingest("manuals")
    columns = ("document", "kind", "section", "title", "page")
    assert lake.rows("manuals", *columns) == [
        ("Care", "markdown", 1, "Care", None),
        ("Care", "markdown", 2, "When", None),
        ("Pump P-100", "docx", 1, "", None),
        ("Pump P-100", "docx", 2, "Safety", None),
        ("Pump P-100", "docx", 3, "Parts", None),
        ("The manual", "pdf", 1, "Start", 1),
        ("The manual", "pdf", 2, "Start", 2),
    ]
    assert lake.ledger("key", "status", "reason") == [
        ("bad.pdf", "quarantined", "unparsable"),
        ("guide.md", "ingested", ""),
        ("parts.docx", "ingested", ""),
        ("pump.pdf", "ingested", ""),
    ]
    lake.put("guide.md", "# Care\nRinse twice.\n")
    lake.ingest("manuals")
    rows = lake.rows("manuals", "kind", "title", "text")
    assert [row for row in rows if row[0] == "markdown"] == [("markdown", "Care", "# Care\nRinse twice.")]


@pytest.mark.slow
def test_hostile_documents_go_to_quarantine_and_the_others_of_the_batch_into_the_table(
    lake: FolderLake, spark: SparkSession
) -> None:
    lake.change("manuals", options={"timeoutSeconds": "0.3"})
    names = [f"hostile{at}.md" for at in range(4)]
    lake.put_many(
        [
            *((name, "* a\n" * 500_000) for name in names),
            ("long.md", "* a\n" * 50_000),
            *((f"good{at}.md", f"# Title {at}\ntext\n") for at in range(8)),
        ]
    )
    assert len(lake.ingest("manuals")) == 1
    assert lake.rows("manuals", "title") == [(f"Title {at}",) for at in range(8)]
    slow = ["long.md", *names]
    assert sorted(lake.quarantine("key", "reason")) == sorted((name, "slow") for name in slow)
    (detail,) = {detail.split(" -> ")[0].split(": ", 1)[1] for (detail,) in lake.quarantine("detail")}
    assert detail == "parsing takes longer than 0.3 s"
    assert Verify(App(lake.settings, spark=spark)).run().tables["manuals"].counts.quarantined == 5

    # The ordinary one among them needs only more time.
    lake.change("manuals", options={})
    items = QuarantineReader(quarantine_path(lake.lake)).list_rows()
    ordinary = [item for item in items if item["key"] == "long.md"]
    report = Redrive(App(lake.settings, spark=spark)).retry(ordinary)
    assert report == RetryReport(tried=1, resolved=1)
    assert {row for row in lake.rows("manuals", "kind", "title") if not row[1]} == {("markdown", "")}
    assert Verify(App(lake.settings, spark=spark)).run().tables["manuals"].counts.quarantined == 4
