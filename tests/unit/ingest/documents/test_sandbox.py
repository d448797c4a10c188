import io
import sys
import time
import zipfile
from collections.abc import Iterator

import pytest

from headwater.errors import ConfigError, MissingExtraError, ObjectTooLargeError, ObjectUnreadableError
from headwater.ingest.documents.sandbox import Sandbox, get_sandbox
from headwater.ingest.documents.section import MAX_SECTION_CHARS
from headwater.ingest.formats import load_format
from headwater.ingest.formats.document import DOCUMENT_SCHEMA, DocumentFormat
from headwater.ingest.formats.protocol import ObjectData
from headwater.ingest.formats.reader_options import ReaderOptions
from tests.fixtures.documents.build import build_docx, build_pdf

MEMORY = 1024**3


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    found = Sandbox(20, MEMORY)
    yield found
    found.close()


def test_one_process_reads_many_documents(sandbox: Sandbox) -> None:
    assert sandbox.parse("a.md", "markdown", b"# A\n").sections[0].title == "A"
    process = sandbox._process
    assert sandbox.parse("a.docx", "docx", build_docx()).title == "Pump P-100"
    assert sandbox._process is process


def test_a_document_that_takes_too_long_is_given_up_and_the_next_is_read() -> None:
    slow = Sandbox(3, MEMORY)
    try:
        # Quadratic in any parser: each bracket may open a link that the end decides.
        hostile = b"<p>" + b"&#x" * 10 + b"<a " + b"a=" * 4_000_000
        started = time.monotonic()
        with pytest.raises((ObjectUnreadableError, ObjectTooLargeError)):
            slow.parse("slow.html", "html", hostile * 20)
        assert time.monotonic() - started < 60
        assert slow.parse("a.md", "markdown", b"# A\n").title == "A"
    finally:
        slow.close()


def test_a_document_that_unpacks_to_too_much_is_too_large(sandbox: Sandbox) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("word/document.xml", bytes(300 * 1024**2))
    with pytest.raises(ObjectTooLargeError, match="unpacks to"):
        sandbox.parse("bomb.docx", "docx", out.getvalue())


def test_memory_is_bounded() -> None:
    small = Sandbox(20, 256 * 1024**2)
    try:
        with pytest.raises(ObjectTooLargeError, match="memory"):
            small.parse("big.txt", "text", b"x" * (150 * 1024**2))
    finally:
        small.close()


def test_xml_entities_in_docx_are_not_expanded(sandbox: Sandbox) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(build_docx())) as given, zipfile.ZipFile(out, "w") as packed:
        for name in given.namelist():
            data = given.read(name)
            if name == "word/document.xml":
                bomb = b'<!DOCTYPE x [<!ENTITY a "' + b"A" * 1_000 + b'">'
                bomb += b"".join(
                    b'<!ENTITY %c "%s">' % (97 + n, b"&%c;" % (96 + n) * 20) for n in range(1, 8)
                )
                data = data.replace(b"<w:document", bomb + b"]><w:document", 1)
                data = data.replace(b"Disconnect power.", b"&h;")
            packed.writestr(name, data)
    try:
        found = sandbox.parse("bomb.docx", "docx", out.getvalue()).sections
    except (ObjectUnreadableError, ObjectTooLargeError):
        found = ()  # refused as a whole, which is as good
    assert sum(len(section.text) for section in found) < 10_000


def read(uri: str, data: bytes, **options: str):
    return DocumentFormat().read_table(ObjectData(uri, data), ReaderOptions(options), 10**9)


def test_sections_become_rows() -> None:
    assert isinstance(load_format("document"), DocumentFormat)
    table = read("m.pdf", build_pdf(["Hello", "World"]))
    assert table.schema == DOCUMENT_SCHEMA
    rows = table.select(["document", "kind", "section", "page", "text"]).to_pylist()
    assert [tuple(row.values()) for row in rows] == [
        ("The manual", "pdf", 1, 1, "Hello"),
        ("The manual", "pdf", 2, 2, "World"),
    ]


def test_long_sections_are_cut_at_lines() -> None:
    text = "\n".join("word " * 20 for _ in range(2_500))
    table = read("long.txt", text.encode())
    parts = table["text"].to_pylist()
    assert len(parts) == 3
    assert max(map(len, parts)) <= MAX_SECTION_CHARS
    assert " ".join(parts).split() == text.split()


def test_an_empty_document_has_no_rows() -> None:
    assert read("e.md", b"\n\n").num_rows == 0


@pytest.mark.parametrize(
    ("uri", "data"),
    [
        ("x.pdf", b"%PDF-1.7\ngarbage"),
        ("x.docx", b"PK\x03\x04garbage"),
        ("x.exe", b"MZ\x90\x00"),
        ("x.txt", bytes(1_000)),
    ],
)
def test_hostile_bytes_are_reported_without_harm(uri: str, data: bytes) -> None:
    with pytest.raises(ObjectUnreadableError, match=uri):
        read(uri, data)


def test_bounds_must_be_numbers() -> None:
    with pytest.raises(ConfigError, match="timeoutSeconds"):
        read("a.md", b"# A", timeoutSeconds="soon")


def test_missing_parsers_are_no_fault_of_a_document(monkeypatch: pytest.MonkeyPatch) -> None:
    get_sandbox.cache_clear()
    monkeypatch.setitem(sys.modules, "pypdf", None)
    with pytest.raises(MissingExtraError) as caught:
        get_sandbox(20, MEMORY)
    assert caught.value.hint == "pip install 'headwater[documents]'"
