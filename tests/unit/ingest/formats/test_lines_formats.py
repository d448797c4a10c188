import bz2
import codecs
import gzip
import json
from collections.abc import Mapping

import pyarrow as pa
import pytest
import zstandard

from headwater.errors import ConfigError, ObjectSchemaError, ObjectUnreadableError
from headwater.ingest.formats import Lines, LinesFormat, ObjectData, Target, load_format, sample_lines
from headwater.ingest.formats.markers import MALFORMED, UNDECODABLE
from headwater.ingest.formats.reader_options import ReaderOptions


def read(
    name: str,
    data: bytes | str,
    options: Mapping[str, str] | None = None,
    columns: tuple[str, ...] = (),
    schema: pa.Schema | None = None,
) -> Lines:
    found = load_format(name)
    assert isinstance(found, LinesFormat)
    raw = data.encode() if isinstance(data, str) else data
    return found.read_lines(
        ObjectData("s3a://b/k", raw), ReaderOptions(options or {}), Target(columns, schema)
    )


def rows(lines: Lines) -> list[tuple[int, str]]:
    return list(zip(lines.row_numbers, lines.texts, strict=True))


class TestJsonLines:
    def test_a_record_is_a_line_numbered_from_one(self) -> None:
        assert rows(read("json", '{"a":1}\n{"a":2}')) == [(1, '{"a":1}'), (2, '{"a":2}')]

    def test_blank_lines_are_no_records_but_count(self) -> None:
        assert rows(read("json", '\n{"a":1}\n \t\n\n{"a":2}\n\n')) == [(2, '{"a":1}'), (5, '{"a":2}')]

    @pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
    def test_all_three_line_ends_end_a_line(self, end: str) -> None:
        assert rows(read("json", f"1{end}2{end}")) == [(1, "1"), (2, "2")]

    def test_other_separators_are_data(self) -> None:
        line = '{"a":"x\u2028y\u0085z\x0b\x0c\x1c"}'
        assert rows(read("json", line + "\n")) == [(1, line)]

    def test_line_separator_can_be_set(self) -> None:
        assert rows(read("json", "1|2\n|3", {"lineSep": "|"})) == [(1, "1"), (2, "2\n"), (3, "3")]

    def test_broken_lines_are_left_for_the_record_parser(self) -> None:
        assert rows(read("json", '{"a":1}\n{"a":\n{"a":3}')) == [(1, '{"a":1}'), (2, '{"a":'), (3, '{"a":3}')]

    def test_a_line_with_an_array_stands_for_its_elements_as_in_spark(self) -> None:
        found = read("json", '[{"a":1.10}, {"a":2}]\n\n{"a":3}\n[]')
        assert rows(found) == [(1, '{"a":1.10}'), (2, '{"a":2}'), (3, '{"a":3}')]

    def test_a_border_of_documents_inside_a_text_leaves_the_numbers_of_the_lines(self) -> None:
        assert rows(read("json", '\n{"a":"}{"}\n\n {"} {":1}')) == [(2, '{"a":"}{"}'), (4, ' {"} {":1}')]

    def test_a_broken_array_line_is_one_bad_record(self) -> None:
        assert rows(read("json", '[{"a":1}\n{"a":3}')) == [(1, '[{"a":1}'), (2, '{"a":3}')]

    def test_multi_line_reads_complete_documents(self) -> None:
        found = read("json", '{\n "a": 1\n}\n{"a":\n2}', {"multiLine": "true"})
        assert rows(found) == [(1, '{\n "a": 1\n}'), (2, '{"a":\n2}')]

    def test_multi_line_takes_arrays_apart(self) -> None:
        assert rows(read("json", '[\n{"a":1},\n{"a":2}]', {"MULTILINE": "TRUE"})) == [
            (1, '{"a":1}'),
            (2, '{"a":2}'),
        ]

    def test_multi_line_delegates_unsupported_options_to_spark(self) -> None:
        assert rows(read("json", "{'a':\n1}", {"multiLine": "true"})) == [(1, "{'a':\n1}")]

    def test_nothing_but_blanks_is_no_record(self) -> None:
        assert rows(read("json", " \n\n")) == []

    def test_sample_is_the_first_records(self) -> None:
        assert sample_lines(b'\n{"a":1}\n{"a":2}\n{"a":3}', "k", "json", {}, 2) == (
            None,
            ['{"a":1}', '{"a":2}'],
        )


class TestJsonArray:
    def test_elements_keep_their_text(self) -> None:
        elements = ['{"n": 1.10, "big": ' + "9" * 5000 + "}", '{"s":"a\\u00e9\\"]"}', "[1, 2]", "null", "NaN"]
        found = read("json_array", "[" + " ,\n".join(elements) + "]\n")
        assert rows(found) == list(enumerate(elements, 1))

    def test_one_object_is_one_row(self) -> None:
        assert rows(read("json_array", ' {"a": [1]}\n')) == [(1, '{"a": [1]}')]

    @pytest.mark.parametrize("text", ["[]", " [ ] ", ""])
    def test_nothing_is_no_row(self, text: str) -> None:
        assert rows(read("json_array", text)) == []

    @pytest.mark.parametrize(
        ("text", "where"),
        [
            ('[{"a":1},\n{"a":2', "line 2, column 7"),
            ('[{"a":1}', "the array is not closed"),
            ('[{"a":1} {"a":2}]', "line 1, column 10"),
            ('[{"a":1},]', "line 1, column 10"),
            ('["a', "line 1, column 2"),
            ("hello", "neither a JSON array nor an object"),
            ("[" * 100_000, "nested too deeply"),
        ],
    )
    def test_invalid_json_is_rejected_with_its_offset(self, text: str, where: str) -> None:
        with pytest.raises(ObjectUnreadableError, match=where):
            read("json_array", text)


class TestText:
    def test_every_line_is_a_row(self) -> None:
        assert rows(read("text", "a\n\n b \n")) == [(1, "a"), (2, ""), (3, " b ")]

    def test_wholetext_is_one_row(self) -> None:
        assert rows(read("text", "a\r\n\nb", {"wholetext": "true"})) == [(1, "a\r\n\nb")]

    def test_sample_names_the_column_value(self) -> None:
        assert sample_lines(b"a\nb", "k", "text", {}, 1) == (("value",), ["a"])


class TestEncoding:
    def test_utf8_byte_order_mark_is_skipped(self) -> None:
        assert read("json", codecs.BOM_UTF8 + b"{}").texts == ["{}"]

    @pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
    def test_marked_utf16_and_utf32_need_no_option(self, encoding: str) -> None:
        assert read("json", '{"ü":1}\n{}'.encode(encoding)).texts == ['{"ü":1}', "{}"]

    @pytest.mark.parametrize("encoding", ["ISO-8859-1", "UTF-16LE", "windows-1252", "UTF-16BE"])
    def test_the_encoding_option_counts(self, encoding: str) -> None:
        assert read("csv", "ü,é\n".encode(encoding), {"encoding": encoding}).texts == ["ü,é"]

    def test_unmarked_utf16_is_big_endian_as_in_java(self) -> None:
        assert read("text", "ab".encode("utf-16-be"), {"encoding": "UTF-16"}).texts == ["ab"]

    @pytest.mark.parametrize("own", ["utf-8-sig", "utf-16", "utf-32"])
    @pytest.mark.parametrize("encoding", ["windows-1252", "UTF-8", "ISO-8859-1"])
    def test_a_byte_order_mark_outranks_the_encoding_option(self, own: str, encoding: str) -> None:
        assert read("csv", "ü,é\n".encode(own), {"encoding": encoding}).texts == ["ü,é"]

    def test_a_mark_of_two_encodings_is_that_of_the_option(self) -> None:
        marked = codecs.BOM_UTF16_LE + "\0a long text".encode("utf-16-le")
        assert read("text", marked, {"encoding": "UTF-16LE"}).texts == ["\0a long text"]

    @pytest.mark.parametrize("name", ["json", "csv", "text"])
    def test_a_record_with_undecodable_bytes_is_marked(self, name: str) -> None:
        text = b"'M\xfcller and more'\n17"
        assert read(name, text).texts == [UNDECODABLE + "'M\ufffdller and more'", "17"]

    def test_of_an_array_only_the_elements_with_undecodable_bytes_are_marked(self) -> None:
        found = read("json_array", b'[{"a":"\xff and a text that is long enough"}, {"a":2}]')
        assert [text[:2] == UNDECODABLE for text in found.texts] == [True, False]

    @pytest.mark.parametrize("name", ["json", "json_array"])
    @pytest.mark.parametrize(
        ("text", "is_marked"),
        [
            (r'{"a":"cut \ud83d"}', True),
            (r'{"a":"\ude00 tail"}', True),
            (r'{"\ud83d":{"b":["\ud83d\ude00"]}}', True),
            (r'{"a":"\ud83d\ude00 \u00e9"}', False),
            (r'{"a":"C:\\ud83d"}', False),
            ("{'a': broken \\ud83d", False),
        ],
    )
    def test_half_of_an_escaped_emoji_is_no_text(self, name: str, text: str, is_marked: bool) -> None:
        if name == "json_array" and "broken" in text:
            return
        assert (read(name, text).texts[0][:2] == UNDECODABLE) is is_marked

    def test_undecodable_bytes_of_other_encodings_are_marked(self) -> None:
        text = "one,two\nthree,four\n".encode("utf-16-le")
        found = read("csv", text[:8] + b"\x00\xd8" + text[8:], {"encoding": "UTF-16LE"})
        assert found.texts == [UNDECODABLE + "one,\ufffdtwo", "three,four"]

    def test_a_header_with_undecodable_bytes_refuses_the_object(self) -> None:
        with pytest.raises(ObjectUnreadableError, match="header with bytes that cannot be decoded") as caught:
            read("csv", "name,größe\n1,2\n".encode("latin-1"), {"header": "true"}, ("name", "größe"))
        assert "encoding" in caught.value.hint

    def test_xml_with_undecodable_bytes_is_refused_with_their_line(self) -> None:
        with pytest.raises(ObjectUnreadableError, match="line 2"):
            read("xml", b"<a>\n<ROW>\xff and more text</ROW></a>", {"encoding": "UTF-8"})

    @pytest.mark.parametrize(
        ("data", "what"),
        [
            (bytes(range(128, 256)) * 20, "first undecodable byte at offset 0"),
            (b"PAR1" + b"\x15\x04\x15\x00" * 30 + b"\xff", "looks like Parquet"),
            ("hello".encode("utf-16-le"), "first zero byte at offset 1"),
        ],
    )
    def test_binary_content_is_rejected(self, data: bytes, what: str) -> None:
        with pytest.raises(ObjectUnreadableError, match=what):
            read("json", data)

    def test_an_unknown_encoding_is_a_wrong_option(self) -> None:
        with pytest.raises(ConfigError, match="not a known encoding"):
            read("text", "a", {"encoding": "latin-one-ish"})


class TestCsv:
    def test_without_header_fields_go_by_position(self) -> None:
        assert rows(read("csv", 'a,"b"\n\nc,d\n', columns=("x", "y"))) == [(1, 'a,"b"'), (3, "c,d")]

    def test_a_header_in_the_tables_order_leaves_records_as_they_are(self) -> None:
        found = read("csv", ' \nID,"name"\n1,"a ""b"\n2,b,extra\n', {"header": "true"}, ("id", "name"))
        assert rows(found) == [(3, '1,"a ""b"'), (4, "2,b,extra")]

    def test_fields_are_put_in_the_tables_order(self) -> None:
        found = read("csv", 'b,a\n1,2\n"x,y",\\"z\n', {"header": "true"}, ("a", "b"))
        assert rows(found) == [(2, "2,1"), (3, '\\"z,"x,y"')]

    def test_unknown_columns_are_left_out_and_missing_ones_empty(self) -> None:
        found = read("csv", "x,b,y\n1,2,3\n", {"header": "true"}, ("a", "b"))
        assert rows(found) == [(2, ",2")]
        assert found.note == "columns dropped (2): x, y; columns missing (1): a"

    def test_a_record_with_another_number_of_fields_stays_malformed(self) -> None:
        found = read("csv", 'b,a,x\n1,2\n1,"2\n', {"header": "true"}, ("a", "b"))
        assert rows(found) == [(2, MALFORMED + "1,2"), (3, MALFORMED + '1,"2')]

    @pytest.mark.parametrize(
        ("options", "header", "record"),
        [
            ({}, "b,a", '1,"never closed'),
            ({}, "b,a", '1,"stray"\\'),
            ({"sep": "||"}, "b||a", "1||2|"),
        ],
    )
    def test_a_record_whose_fields_cannot_be_moved_is_malformed(
        self, options: dict[str, str], header: str, record: str
    ) -> None:
        found = read("csv", f"{header}\n{record}\n", {"header": "true", **options}, ("a", "b"))
        assert found.texts == [MALFORMED + record]

    def test_a_header_of_another_table_is_refused(self) -> None:
        with pytest.raises(ObjectSchemaError, match="it has x, y; the table has a, b"):
            read("csv", "x,y\n1,2\n", {"header": "true"}, ("a", "b"))

    def test_comments_and_blank_lines_are_no_records(self) -> None:
        found = read("csv", "# by us\na,b\n#1,2\n \n3,4\n", {"header": "true", "comment": "#"}, ("a", "b"))
        assert rows(found) == [(5, "3,4")]

    def test_a_reordered_record_never_turns_into_a_comment_or_a_blank_line(self) -> None:
        found = read("csv", "b,a\n1,#2\n", {"header": "true", "comment": "#"}, ("a", "b"))
        assert rows(found) == [(2, '"#2",1')]
        assert rows(read("csv", "a,b\n,1\n", {"header": "true"}, ("a",))) == [(2, '""')]

    @pytest.mark.parametrize(("sep", "mark"), [("\\t", "\t"), ("||", "||"), (";", ";"), ("\\|", "\\|")])
    def test_delimiters_are_read_as_spark_reads_them(self, sep: str, mark: str) -> None:
        found = read("csv", f"b{mark}a\n1{mark}2\n", {"header": "true", "sep": sep}, ("a", "b"))
        assert found.texts == [f"2{mark}1"]

    def test_quotes_are_doubled_unless_the_escape_option_says_otherwise(self) -> None:
        found = read("csv", 'b,a\n"x"",""y",2\n', {"header": "true"}, ("a", "b"))
        assert found.texts == ['2,"x"",""y"']
        options = {"header": "true", "escape": "\\"}
        assert read("csv", 'b,a\n"x\\",y",2\n', options, ("a", "b")).texts == ['2,"x\\",y"']

    def test_a_stray_quote_is_malformed_unless_an_option_allows_it(self) -> None:
        text = '"Big" Joe,1\n5" pipe,2\n"a\\"b",3\n'
        assert read("csv", text).texts == [MALFORMED + '"Big" Joe,1', '5" pipe,2', MALFORMED + '"a\\"b",3']
        options = {"unescapedQuoteHandling": "STOP_AT_DELIMITER"}
        assert read("csv", text, options).texts == ['"Big" Joe,1', '5" pipe,2', '"a\\"b",3']
        assert read("csv", text, {"escape": "\\"}).texts == ['"Big" Joe,1', '5" pipe,2', '"a\\"b",3']

    def test_without_quotes_every_delimiter_counts(self) -> None:
        assert read("csv", 'b,a\n"1,2"\n', {"header": "true", "quote": ""}, ("a", "b")).texts == ['2","1']

    def test_quoted_line_ends_are_data(self) -> None:
        text = 'a,b\r\n"x\r\n\r\ny",1\r\nz,2\r\n'
        options = {"header": "true"}
        assert rows(read("csv", text, options, ("a", "b"))) == [(2, '"x\r\n\r\ny",1'), (5, "z,2")]
        assert rows(read("csv", text, options, ("b", "a"))) == [(2, '1,"x\r\n\r\ny"'), (5, "2,z")]
        without = read("csv", text, options | {"multiLine": "false"}, ("a", "b"))
        assert rows(without) == [(2, MALFORMED + '"x'), (4, 'y",1'), (5, "z,2")]

    @pytest.mark.parametrize("rest", ["4,5\n", '4,"5"\n', '"4","5"\n'])
    def test_a_quote_that_is_never_closed_costs_its_line_only(self, rest: str) -> None:
        found = rows(read("csv", '1,2\n3,"x\n' + rest))
        assert found == [(1, "1,2"), (2, MALFORMED + '3,"x'), (3, rest.removesuffix("\n"))]

    def test_sample_names_columns_as_spark_does(self) -> None:
        assert sample_lines(b"id,,id\n1,2,3\n4,5,6", "k", "csv", {"header": "true"}, 1) == (
            ("id0", "_c1", "id2"),
            ["1,2,3"],
        )
        assert sample_lines(b'1,"a,b"\n', "k", "csv", {}) == (("_c0", "_c1"), ['1,"a,b"'])
        assert sample_lines(b"\n", "k", "csv", {"header": "true"}) == (None, [])

    def test_a_wrong_option_is_named(self) -> None:
        with pytest.raises(ConfigError, match="header is 'yes'"):
            read("csv", "a", {"header": "yes"})
        with pytest.raises(ConfigError, match="quote is"):
            read("csv", "a", {"quote": "''"})


class TestXml:
    DOCUMENT = """<?xml version="1.0" encoding="UTF-8"?>
    <books xmlns="urn:x"><!-- new -->
      <book id="1"><title lang="de">Käse &amp; Brot</title><tag>a</tag><tag>b</tag><price>1.50</price></book>
      <book id="2"><title>Two</title><tag>c</tag><price>2</price><gone/></book>
    </books>"""

    def test_rows_follow_spark_xml(self) -> None:
        found = [json.loads(text) for text in read("xml", self.DOCUMENT, {"rowTag": "book"}).texts]
        assert found == [
            {
                "_id": "1",
                "title": {"_lang": "de", "_VALUE": "Käse & Brot"},
                "tag": ["a", "b"],
                "price": "1.50",
            },
            {"_id": "2", "title": "Two", "tag": "c", "price": "2", "gone": ""},
        ]

    def test_a_schema_gives_the_rows_its_shape(self) -> None:
        title = pa.struct([("_lang", pa.string()), ("_VALUE", pa.string())])
        schema = pa.schema(
            [("_id", pa.int64()), ("title", title), ("tag", pa.list_(pa.string())), ("price", pa.float64())]
        )
        found = json.loads(read("xml", self.DOCUMENT, {"rowTag": "book"}, schema=schema).texts[1])
        assert found == {"_id": 2, "title": {"_VALUE": "Two"}, "tag": ["c"], "price": 2.0, "gone": ""}

    def test_records_outside_the_schema_are_left_to_the_record_parser(self) -> None:
        schema = pa.schema([("n", pa.int64())])
        assert read("xml", "<r><ROW><n>x</n></ROW></r>", schema=schema).texts == ['{"n": "x"}']

    def test_sample_gives_all_rows_one_shape(self) -> None:
        names, lines = sample_lines(self.DOCUMENT.encode(), "k", "xml", {"rowTag": "book"})
        first, second = map(json.loads, lines)
        assert names is None
        assert (first["_id"], first["price"], second["tag"]) == (1, 1.5, ["c"])
        assert second["title"] == {"_VALUE": "Two"}

    def test_prefix_and_value_tag_can_be_set(self) -> None:
        options = {"rowTag": "r", "attributePrefix": "@", "valueTag": "text"}
        assert json.loads(read("xml", '<x><r a="1">hi</r></x>', options).texts[0]) == {
            "@a": "1",
            "text": "hi",
        }

    def test_no_row_is_said(self) -> None:
        assert read("xml", "<x/>").note == "no <ROW> element"

    @pytest.mark.parametrize(
        "text",
        [
            "<a><ROW>",
            "<ROW>" + "<a>" * 5000 + "</a>" * 5000 + "</ROW>",
            "",
            '<!DOCTYPE a [<!ENTITY b "c">]><a><ROW>&b;</ROW></a>',
            '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/hostname">]><a><ROW>&b;</ROW></a>',
        ],
    )
    def test_broken_documents_and_entities_are_refused(self, text: str) -> None:
        with pytest.raises(ObjectUnreadableError, match="not readable XML"):
            read("xml", text)


@pytest.mark.parametrize(
    ("suffix", "compress"),
    [
        ("gz", gzip.compress),
        ("bz2", bz2.compress),
        ("zst", zstandard.ZstdCompressor().compress),
        ("GZ", lambda data: gzip.compress(data[:3]) + gzip.compress(data[3:])),
    ],
)
def test_samples_are_decompressed(suffix: str, compress: "type[bytes]") -> None:
    assert sample_lines(compress(b"a\nb"), f"x.txt.{suffix}", "text", {})[1] == ["a", "b"]
