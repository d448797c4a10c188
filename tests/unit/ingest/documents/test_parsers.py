import pytest

from headwater.ingest.documents.docx import parse_docx
from headwater.ingest.documents.html import parse_html
from headwater.ingest.documents.kind import find_kind
from headwater.ingest.documents.markdown import parse_markdown
from headwater.ingest.documents.pdf import parse_pdf
from headwater.ingest.documents.plain import parse_plain
from headwater.ingest.documents.section import ParsedDocument
from tests.fixtures.documents.build import build_docx, build_pdf


def outline(document: ParsedDocument) -> list[tuple[str, int]]:
    return [(section.title, section.level) for section in document.sections]


MARKDOWN = """intro é

# Pump

Pumps *water*.

```
# no heading
```

## Sëals

| a | b |
|---|---|
| 1 | 2 |

Underlined
==========
end
""".encode()


def test_markdown_has_a_section_a_heading() -> None:
    found = parse_markdown(MARKDOWN)
    assert outline(found) == [("", 0), ("Pump", 1), ("Sëals", 2), ("Underlined", 1)]
    assert found.title == "Pump"
    assert "# no heading" in found.sections[1].text
    assert "| 1 | 2 |" in found.sections[2].text


def test_markdown_byte_ranges_cover_the_object() -> None:
    sections = parse_markdown(MARKDOWN).sections
    assert b"".join(MARKDOWN[s.start : s.end] for s in sections) == MARKDOWN
    assert MARKDOWN[sections[2].start : sections[2].end].decode().startswith("## Sëals")


HTML = """<!doctype html><html><head><title>Manual é</title><style>p{}</style></head><body>
<nav>Home <a href=x>About</a></nav><p>Before.</p>
<h1>Filter <b>care</b></h1><p>Rinse &amp; dry.</p><script>alert('no text')</script>
<div>One<br>two <span>three</span></div>
<h2>When</h2><ul><li>weekly</li><li>monthly</li></ul><!-- hidden --></body></html>""".encode()


def test_html_has_a_section_a_heading_and_no_code() -> None:
    found = parse_html(HTML)
    assert found.title == "Manual é"
    assert outline(found) == [("", 0), ("Filter care", 1), ("When", 2)]
    assert found.sections[0].text == "Before."
    assert found.sections[1].text == "Filter care\nRinse & dry.\nOne\ntwo three"
    assert found.sections[2].text == "When\nweekly\nmonthly"


def test_html_byte_ranges_begin_at_headings() -> None:
    sections = parse_html(HTML).sections
    assert HTML[sections[1].start : sections[1].end].startswith(b"<h1>Filter")
    assert HTML[sections[2].start : sections[2].end].startswith(b"<h2>When")
    assert sections[0].end == sections[1].start


def test_html_says_its_encoding() -> None:
    data = '<html><head><meta charset="iso-8859-1"></head><body><p>Größe</p></body></html>'.encode("latin-1")
    assert parse_html(data).sections[0].text == "Größe"


def test_html_may_nest_deeper_than_the_stack() -> None:
    depth = 5_000
    data = b"<div>" * depth + b"deep" + b"</div>" * depth
    assert parse_html(data).sections[0].text == "deep"


def test_html_body_ends_a_head_without_an_end() -> None:
    found = parse_html(b"<html><head><title>T</title><body><p>text")
    assert (found.title, found.sections[0].text) == ("T", "text")


def test_html_heading_ends_with_any_headings_end_or_the_next_heading() -> None:
    sections = parse_html(b"<h1>One</h2>first<h2>Two<h3>Three</h3>third").sections
    assert [(s.title, s.level, s.text) for s in sections] == [
        ("One", 1, "One\nfirst"),
        ("Two", 2, "Two"),
        ("Three", 3, "Three\nthird"),
    ]


def test_html_heading_omits_pictures_and_readings() -> None:
    data = "<h1>A <svg><title>icon</title></svg><ruby>漢<rt>kan</rt></ruby></h1>".encode()
    assert parse_html(data).sections[0].title == "A 漢"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"<p>a < b and c</p>", "a < b and c"),
        (b"<p>a <b c", "a <b c"),
        (b"<p>a</p><p><!-- never closed</p><p>c", "a\n<!-- never closed\nc"),
        (b"<p>a &amp", "a &"),
        (b"<p>a</p><script>var b", "a"),
        (b"<p>a</b></p><br/>b<img src=x>c", "a\nbc"),
    ],
)
def test_html_that_is_incomplete_keeps_its_text(data: bytes, text: str) -> None:
    found = parse_html(data).sections[0].text
    assert found.replace("</p>", "") == text


def test_html_text_after_many_unclosed_tags_is_kept() -> None:
    data = b"<p>a</p>" + b"<!--x>" * 100 + b"<p>end"
    assert parse_html(data).sections[0].text.endswith("end")


def test_markdown_headings_have_their_words_only() -> None:
    found = parse_markdown(b"# The *new* [pump][1] `P-1` &amp; ![x](y) \\#\n\n[1]: http://a 'b'\n")
    assert found.title == "The new pump P-1 & x #"


def test_markdown_heading_of_many_brackets_stays_as_typed() -> None:
    assert parse_markdown(b"# " + b"[a]" * 40 + b"\n").title == "[a]" * 40


def test_docx_has_a_section_a_heading_and_tables_by_row() -> None:
    found = parse_docx(build_docx())
    assert found.title == "Pump P-100"
    assert outline(found) == [("", 0), ("Safety", 1), ("Parts", 2)]
    assert found.sections[1].text == "Safety\nDisconnect power."
    assert found.sections[2].text == "Parts\npart | count\nseal | 4"


def test_pdf_has_a_section_a_page_titled_by_bookmarks() -> None:
    found = parse_pdf(build_pdf(["Hello pump", "", "Replace seal"], {0: "Start", 2: "Seals"}))
    assert found.title == "The manual"
    assert [(s.title, s.page, s.text) for s in found.sections] == [
        ("Start", 1, "Hello pump"),
        ("Seals", 3, "Replace seal"),
    ]


def test_pdf_with_a_password_is_refused() -> None:
    with pytest.raises(ValueError, match="encrypted"):
        parse_pdf(build_pdf(["secret"], password="open"))


def test_plain_text_has_a_section_a_page() -> None:
    data = b"first page\n\x0csecond\n\x0c\n"
    found = parse_plain(data)
    assert [(s.page, s.text) for s in found.sections] == [(1, "first page"), (2, "second")]
    assert [data[s.start : s.end] for s in found.sections] == [b"first page\n", b"second\n"]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_byte_order_mark_names_the_encoding(encoding: str) -> None:
    data = "# Größe\n\ntext".encode(encoding)
    found = parse_markdown(data)
    assert found.title == "Größe"
    assert data[found.sections[0].start : found.sections[0].end] in data


@pytest.mark.parametrize("parse", [parse_plain, parse_markdown, parse_html])
def test_bytes_that_are_no_text_are_refused(parse) -> None:
    with pytest.raises(ValueError, match="cannot be decoded"):
        parse(bytes(10_000))


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("a.PDF", b"%PDF-1.7", "pdf"),
        ("a.bin", b"\n%PDF-1.4", "pdf"),
        ("a.pdf", b"hello", None),
        ("a.docx", b"PK\x03\x04", "docx"),
        ("a.docx", b"plain", None),
        ("a.md.gz", b"# x", "markdown"),
        ("a/b.html", b"x", "html"),
        ("noname", b"  <!DOCTYPE html>", "html"),
        ("noname", b"x", None),
        ("a.txt", b"x", "text"),
    ],
)
def test_type_is_detected_by_bytes_then_by_name(name: str, data: bytes, kind: str | None) -> None:
    assert find_kind(name, data) == kind
