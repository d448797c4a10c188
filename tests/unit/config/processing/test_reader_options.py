"""Options of a table's reader: unknown ones and impossible values are told before anything runs."""

from pathlib import Path

import pytest

from headwater.config.file_format import FileFormat
from headwater.config.loader import parse_settings
from headwater.config.processing.reader_options import iter_reader_option_problems
from headwater.errors import ConfigError

CSV = "source: {type: local, path: in}\nlake: out\ntables:\n  t:\n    path: '*.csv'\n    options:\n"


def find(file_format: FileFormat, **options: str) -> str:
    found = list(iter_reader_option_problems(file_format, options))
    assert all(path == ("options", name) for (path, _), name in zip(found, options, strict=False))
    return "; ".join(text for _, text in found)


def test_an_unknown_option_is_reported_with_file_line_and_suggestion() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_settings(CSV + "      sep: ';'\n      headr: true\n", Path("headwater.yaml"), {})
    assert caught.value.exit_code == 2
    assert caught.value.message.startswith(
        "headwater.yaml:8: tables.t.options.headr: format csv has no option 'headr'. Did you mean 'header'? "
        "Allowed: charToEscapeQuoteEscaping, "
    )


@pytest.mark.parametrize(
    ("file_format", "name", "expected_message"),
    [
        ("json", "header", "format json has no option 'header'"),
        ("json", "multiline_", "Did you mean 'multiLine'?"),
        ("json", "alowComments", "Did you mean 'allowComments'?"),
        ("csv", "seperator", "format csv has no option 'seperator'. Did you mean 'sep'?"),
        ("csv", "delimeter", "Did you mean 'delimiter'?"),
        ("csv", "rowTag", "format csv has no option 'rowTag'"),
        ("xml", "rowtg", "Did you mean 'rowTag'?"),
        ("text", "multiLine", "Allowed: charset, encoding, lineSep, wholetext"),
        ("parquet", "header", "Allowed: datetimeRebaseMode, int96RebaseMode, mergeSchema"),
        ("binary", "x", "It has no options of its own"),
        ("document", "timeoutSecond", "Did you mean 'timeoutSeconds'?"),
    ],
)
def test_each_format_has_its_own_options(file_format: FileFormat, name: str, expected_message: str) -> None:
    assert expected_message in find(file_format, **{name: "true"})


@pytest.mark.parametrize(
    ("name", "value", "expected_message"),
    [
        ("header", "yes", "'yes' is not allowed. Allowed: true, false"),
        ("quote", "''", "Allowed: one character"),
        ("sep", "", "Allowed: one or more characters"),
        ("encoding", "latin-one-ish", "'latin-one-ish' is not an encoding"),
        ("encoding", "base64", "'base64' is not an encoding"),
        ("maxColumns", "many", "'many' is not a number"),
        ("epochUnit", "days", "Allowed: auto, seconds"),
    ],
)
def test_invalid_value_is_reported(name: str, value: str, expected_message: str) -> None:
    assert expected_message in find("csv", **{name: value})


def test_names_ignore_case_and_common_options_are_allowed() -> None:
    assert find("csv", HEADER="TRUE", pathglobfilter="*.csv", Sep="\\t", escape="", encoding="utf-16") == ""
    assert find("parquet", ignoreCorruptFiles="true") == ""
