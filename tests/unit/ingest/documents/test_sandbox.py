import io
import os
import signal
import sys
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from headwater.errors import (
    ConfigError,
    MissingExtraError,
    ObjectTooLargeError,
    ObjectTooSlowError,
    ObjectUnreadableError,
)
from headwater.ingest.documents.kind import find_kind
from headwater.ingest.documents.sandbox import DocumentFile, Sandbox, get_sandbox
from headwater.ingest.documents.section import MAX_SECTION_CHARS, MAX_TITLE_CHARS
from headwater.ingest.documents.time_budget import TimeBudget
from headwater.ingest.formats import load_format
from headwater.ingest.formats.document import DOCUMENT_SCHEMA, DocumentFormat
from headwater.ingest.formats.protocol import ObjectData
from headwater.ingest.formats.reader_options import ReaderOptions
from tests.fixtures.documents.build import build_docx, build_pdf

MEMORY = 1024**3
# Linear, and yet slow: 20 s.
SLOW = b"* a\n" * 500_000


def parse(sandbox: Sandbox, name: str, data: bytes, seconds: float = 20):
    kind = find_kind(name, data)
    assert kind is not None
    return sandbox.parse(DocumentFile(name, kind, data), TimeBudget(seconds), 10**9)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    found = Sandbox(MEMORY)
    yield found
    found.close()


def test_one_process_reads_many_documents(sandbox: Sandbox) -> None:
    assert parse(sandbox, "a.md", b"# A\n").sections[0].title == "A"
    pids = sandbox.pids
    assert parse(sandbox, "a.docx", build_docx()).title == "Pump P-100"
    assert sandbox.pids == pids
    assert len(pids) == 1


def test_a_document_that_takes_too_long_is_given_up_and_the_next_is_read(sandbox: Sandbox) -> None:
    with pytest.raises(ObjectTooSlowError, match=r"slow.md cannot be read as markdown: .* longer than 0.5 s"):
        parse(sandbox, "slow.md", SLOW, 0.5)
    assert parse(sandbox, "a.md", b"# A\n").title == "A"


def wait_until(is_true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not is_true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_slow_document_occupies_one_process_while_another_reads_those_behind_it() -> None:
    sandbox = Sandbox(MEMORY, patience=0)
    try:
        with ThreadPoolExecutor(1) as pool:
            slow = pool.submit(parse, sandbox, "slow.md", SLOW, 3)
            wait_until(lambda: len(sandbox.pids) == 1)
            for _ in range(3):
                assert parse(sandbox, "a.md", b"# A\n").title == "A"
            assert not slow.done()
            assert len(sandbox.pids) == 2
            with pytest.raises(ObjectTooSlowError):
                slow.result()
    finally:
        sandbox.close()


def test_a_killed_process_is_replaced_and_its_document_read_again() -> None:
    sandbox = Sandbox(MEMORY)
    try:
        with ThreadPoolExecutor(1) as pool:
            reading = pool.submit(parse, sandbox, "long.md", b"* a\n" * 20_000)
            wait_until(lambda: len(sandbox.pids) == 1)
            (pid,) = sandbox.pids
            os.kill(pid, signal.SIGKILL)
            assert len(reading.result().sections) == 1
            assert pid not in sandbox.pids
    finally:
        sandbox.close()


def test_a_document_that_ends_its_process_twice_is_unreadable() -> None:
    sandbox = Sandbox(MEMORY)
    killed: set[int] = set()
    try:
        with ThreadPoolExecutor(1) as pool:
            reading = pool.submit(parse, sandbox, "long.md", SLOW)
            for _ in range(2):
                wait_until(lambda: bool(sandbox.pids - killed))
                (pid,) = sandbox.pids - killed
                os.kill(pid, signal.SIGKILL)
                killed.add(pid)
            with pytest.raises(ObjectUnreadableError, match="exited with code -9"):
                reading.result()
    finally:
        sandbox.close()


MEGABYTE = 1024**2
REPEATED = {
    "nested.html": b"<div>",
    "unclosed.html": b"<p>x",
    "tags.html": b"<a ",
    "quotes.html": b"<a b='",
    "comments.html": b"<!--",
    "ends.html": b"</",
    "instructions.html": b"<?",
    "cdata.html": b"<![CDATA[",
    "charsets.html": b"<meta charset=",
    "attributes.html": b" a=1",
    "entities.html": b"&a",
    "brackets.md": b"[",
    "links.md": b"[a](",
    "images.md": b"![[",
    "emphasis.md": b"*a**b ",
    "quotes.md": b">",
    "heading.md": b"![",
    "line.txt": b"a",
}
FIRST = {"attributes.html": b"<p", "heading.md": b"# "}
GROWING: dict[str, Callable[[int], bytes]] = {
    "backticks.md": lambda at: b"`" * at + b" ",
    "lists.md": lambda at: b" " * (2 * at) + b"* a\n",
}


def build_hostile(name: str, size: int) -> bytes:
    """Return a document of about so many bytes."""
    if name in REPEATED:
        return FIRST.get(name, b"") + REPEATED[name] * (size // len(REPEATED[name]))
    lines: list[bytes] = []
    left = size
    while left > 0:
        lines.append(GROWING[name](len(lines)))
        left -= len(lines[-1])
    return b"".join(lines)


def measure_cpu(sandbox: Sandbox) -> float:
    """Return the seconds of CPU that the parser process has taken so far."""
    (pid,) = sandbox.pids
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads the CPU time of a process in /proc")
@pytest.mark.parametrize("name", sorted({**REPEATED, **GROWING}))
def test_the_time_of_a_hostile_document_grows_with_its_size(sandbox: Sandbox, name: str) -> None:
    parse(sandbox, "first.md", b"# Loads what all documents need\n")
    times = [measure_cpu(sandbox)]
    for data in (build_hostile(name, MEGABYTE // 4), build_hostile(name, MEGABYTE)):
        assert parse(sandbox, name, data) is not None
        times.append(measure_cpu(sandbox))
    small, large = times[1] - times[0], times[2] - times[1]
    # A quadratic parser takes 16 times as long. Loading it, once, is part of the first.
    assert large < 8 * small + 0.2


def build_large_docx(body: bytes) -> bytes:
    """Return a document that begins with `body`."""
    out = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(build_docx())) as given,
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed,
    ):
        for name in given.namelist():
            data = given.read(name)
            if name == "word/document.xml":
                data = data.replace(b"<w:body>", b"<w:body>" + body, 1)
            packed.writestr(name, data)
    return out.getvalue()


def test_paragraphs_of_docx_take_microseconds_each(sandbox: Sandbox) -> None:
    data = build_large_docx(b"<w:p><w:r><w:t>x</w:t></w:r></w:p>" * 10_000)
    assert len(parse(sandbox, "long.docx", data, 20).sections[0].text) > 19_999


def test_a_merged_cell_of_a_million_columns_is_refused(sandbox: Sandbox) -> None:
    cell = b'<w:tc><w:tcPr><w:gridSpan w:val="100000000"/></w:tcPr><w:p/></w:tc>'
    data = build_large_docx(b"<w:tbl><w:tr>" + cell + b"</w:tr></w:tbl>")
    with pytest.raises(ObjectUnreadableError, match="100,000,000 columns"):
        parse(sandbox, "wide.docx", data)


def test_a_stream_of_a_pdf_that_unpacks_to_200_megabytes_is_refused(sandbox: Sandbox) -> None:
    packed = zlib.compress(bytes(200 * MEGABYTE), 9)
    data = build_pdf(["Hello"]).replace(b"/Length ", b"/Filter /FlateDecode /Length ", 1)
    at = data.index(b"stream\n") + len(b"stream\n")
    bomb = data[:at] + packed + data[data.index(b"\nendstream") :]
    with pytest.raises((ObjectUnreadableError, ObjectTooLargeError)):
        parse(sandbox, "bomb.pdf", bomb, 3)


def test_titles_are_truncated_since_each_row_repeats_them(sandbox: Sandbox) -> None:
    for name, data in (("a.html", b"<h1>" + b"word " * 50_000), ("a.md", b"# " + b"word " * 50_000)):
        found = parse(sandbox, name, data)
        assert len(found.title) <= MAX_TITLE_CHARS
        assert len(found.sections[0].title) <= MAX_TITLE_CHARS
        assert found.sections[0].text.count("word") == 50_000


@pytest.mark.parametrize(
    ("name", "data"),
    [("a.txt", b"a\f" * 100_001), ("a.md", b"# a\n" * 100_001), ("a.html", b"<h1>a</h1>" * 100_001)],
)
def test_documents_of_too_many_sections_are_too_large(sandbox: Sandbox, name: str, data: bytes) -> None:
    with pytest.raises(ObjectTooLargeError, match="100,001 sections; the limit is 100,000"):
        parse(sandbox, name, data)


def test_documents_with_more_text_than_allowed_are_too_large(sandbox: Sandbox) -> None:
    with pytest.raises(ObjectTooLargeError, match="more than 9 characters"):
        sandbox.parse(DocumentFile("a.txt", "text", b"0123456789"), TimeBudget(20), 9)


def test_a_document_that_unpacks_to_too_much_is_too_large(sandbox: Sandbox) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("word/document.xml", bytes(300 * 1024**2))
    with pytest.raises(ObjectTooLargeError, match="unpacks to"):
        parse(sandbox, "bomb.docx", out.getvalue())


def test_memory_is_bounded() -> None:
    small = Sandbox(256 * 1024**2)
    try:
        with pytest.raises(ObjectTooLargeError, match="memory"):
            parse(small, "big.txt", b"x" * (150 * 1024**2))
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
        found = parse(sandbox, "bomb.docx", out.getvalue()).sections
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


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.99])
@pytest.mark.parametrize(
    ("name", "whole"), [("a.pdf", build_pdf(["Hello", "World"], {0: "Start"})), ("a.docx", build_docx())]
)
def test_truncated_documents_are_reported_without_harm(
    sandbox: Sandbox, name: str, whole: bytes, share: float
) -> None:
    with pytest.raises(ObjectUnreadableError, match=name):
        parse(sandbox, name, whole[: int(len(whole) * share)])


def test_bounds_must_be_numbers() -> None:
    with pytest.raises(ConfigError, match="timeoutSeconds"):
        read("a.md", b"# A", timeoutSeconds="soon")


def test_missing_parsers_are_no_fault_of_a_document(monkeypatch: pytest.MonkeyPatch) -> None:
    get_sandbox.cache_clear()
    monkeypatch.setitem(sys.modules, "pypdf", None)
    with pytest.raises(MissingExtraError) as caught:
        get_sandbox(MEMORY)
    assert caught.value.hint == "pip install 'headwater[documents]'"
