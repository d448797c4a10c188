"""Manuals in a folder become rows, section by section; a hostile one stops none of the others."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

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
