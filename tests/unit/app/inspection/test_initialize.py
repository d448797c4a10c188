"""What `headwater init` proposes for the files of a folder, and what it marks as uncertain."""

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headwater.app.inspection import initialize
from headwater.app.inspection.sampling import Limits
from headwater.config.loader import load_settings
from headwater.config.scaffold import Scaffold, ScaffoldRequest
from headwater.config.table import TableConfig
from headwater.errors import CredentialsError, UsageError


def put(folder: Path, files: dict[str, str | bytes]) -> None:
    """Write files; each one is modified a second later than the one before."""
    for number, (name, content) in enumerate(files.items()):
        path = folder / "landing" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))


def init(
    folder: Path, files: dict[str, str | bytes], **limits: Any
) -> tuple[Scaffold, dict[str, TableConfig]]:
    """Initialize a folder with these files below `landing`; return the tables of the written file."""
    put(folder, files)
    scaffold = initialize(ScaffoldRequest(folder), {}, limits=Limits(**limits))
    return scaffold, dict(load_settings(scaffold.config_path, environ={}).tables)


def to_lines(*rows: dict[str, object]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def list_ids(first: int, last: int, **others: object) -> str:
    return to_lines(*({"id": number, **others} for number in range(first, last)))


def test_key_without_nulls_and_repeated_values_is_certain_after_100_rows(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "orders/2026/a.json": list_ids(0, 60, updated_at="2026-01-01T10:00:00Z"),
        "orders/b.json.gz": gzip.compress(list_ids(60, 120, updated_at="2026-01-02").encode()),
    }
    scaffold, tables = init(tmp_path, files)
    orders = tables["orders"]
    assert orders.path == ("orders/**/*.{json,json.gz}",)
    assert (orders.record_key, orders.ordering) == (("id",), ("updated_at",))
    assert orders.effective_mode == "merge"
    assert not scaffold.checks
    assert "# id has no null and no value twice in 120 rows of 2 files." in scaffold.config_path.read_text()


def test_key_of_few_rows_is_marked_with_their_number(tmp_path: Path) -> None:
    scaffold, tables = init(tmp_path, {"orders/a.json": list_ids(0, 2)})
    assert tables["orders"].record_key == ("id",)
    assert "in 2 rows of 1 file" in scaffold.checks["tables.orders.record_key"]
    assert "mode: append" in scaffold.checks["tables.orders.record_key"]


def test_values_that_repeat_within_a_file_or_are_null_make_no_key(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "twice/a.json": list_ids(0, 3) + list_ids(2, 3),
        "nulls/a.json": list_ids(0, 3) + to_lines({"id": None}, {"other": 1}),
    }
    scaffold, tables = init(tmp_path, files)
    assert {name: table.effective_mode for name, table in tables.items()} == dict.fromkeys(tables, "append")
    assert "1 value twice in a file in 4 rows" in scaffold.checks["tables.twice.mode"]
    assert "2 nulls in 5 rows" in scaffold.checks["tables.nulls.mode"]


def test_ids_that_repeat_across_files_are_versions_if_a_column_orders_them(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        f"orders/{day}.json": list_ids(0, 5, updated_at=f"2026-01-0{day}T10:00:00Z") for day in (1, 2)
    }
    scaffold, tables = init(tmp_path, files)
    assert (tables["orders"].record_key, tables["orders"].ordering) == (("id",), ("updated_at",))
    check = scaffold.checks["tables.orders.record_key"]
    assert "5 of 5 values are in several files" in check
    assert "mode: mirror" in check
    assert "tables.orders.ordering" not in scaffold.checks


def test_ordering_that_falls_in_a_later_file_is_marked(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "orders/1.json": list_ids(0, 5, updated_at=20),
        "orders/2.json": list_ids(3, 8, updated_at=9),
    }
    scaffold, tables = init(tmp_path, files)
    assert tables["orders"].ordering == ("updated_at",)
    assert "for 2 of 2 keys in several files" in scaffold.checks["tables.orders.ordering"]


def test_ids_that_repeat_across_files_without_an_order_belong_to_a_mirror(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {f"stores/{name}.csv": "id,amount\n1,5\n2,6\n" for name in "ab"}
    scaffold, tables = init(tmp_path, files)
    assert tables["stores"].effective_mode == "mirror"
    check = scaffold.checks["tables.stores.mode"]
    assert "2 of 2 values of id are in several files" in check
    assert "complete_when" in check
    assert "    # record_key: id\n" in scaffold.config_path.read_text()


def test_several_columns_are_proposed_as_a_key_if_no_single_one_is(tmp_path: Path) -> None:
    lines = "order_id,line_no,qty\n1,1,5\n1,2,6\n2,1,5\n"
    scaffold, tables = init(tmp_path, {"items/a.csv": lines})
    assert tables["items"].effective_mode == "append"
    assert "    # record_key: [order_id, line_no]\n" in scaffold.config_path.read_text()


def test_a_column_without_the_name_of_a_key_is_only_an_alternative(tmp_path: Path) -> None:
    visits = to_lines(*({"customer_id": number, "page": "/"} for number in range(200)))
    scaffold, tables = init(tmp_path, {"visits/a.json": visits})
    assert tables["visits"].effective_mode == "append"
    assert "no column has the name of a key" in scaffold.checks["tables.visits.mode"]
    assert "    # record_key: customer_id\n" in scaffold.config_path.read_text()


def test_ordering_whose_texts_do_not_sort_like_times_is_not_used(tmp_path: Path) -> None:
    rows = "id,updated_at\n1,01.02.2026 10:00\n2,02.01.2026 10:00\n"
    scaffold, tables = init(tmp_path, {"orders/a.csv": rows})
    assert tables["orders"].ordering == ()
    assert 'schema_hints: "updated_at timestamp"' in scaffold.checks["tables.orders.ordering"]


CSV_CASES: dict[str, tuple[str | bytes, dict[str, str], set[str]]] = {
    "quotes": ('id,name\n1,"a, ""b"""\n2,"c\nd"\n', {"header": "true"}, set()),
    "semicolons": ("id;amount\n1;1,5\n2;2,5\n", {"sep": ";", "header": "true"}, set()),
    "tabs": ("id\tname\n1\ta\n", {"sep": "\\t", "header": "true"}, set()),
    "ambiguous": ("1;2,x\n2;3,y\n", {"sep": ",", "header": "false"}, {"options.sep", "options.header"}),
    "no header": ("1,foo,2026-01-01\n2,bar,2026-01-02\n", {"header": "false"}, {"options.header"}),
    "all text": ("name,city\nAda,Rome\nBob,Bonn\n", {"header": "true"}, {"options.header"}),
    "only text": ("Ada,Rome\nAda,Bonn\n", {"header": "false"}, {"options.header"}),
    "latin": (
        "id,name\n1,Jürg\n".encode("latin-1"),
        {"header": "true", "encoding": "windows-1252"},
        {"options.encoding"},
    ),
    "utf-16": (
        "id,name\n1,Jürg\n".encode("utf-16-le"),
        {"header": "true", "encoding": "UTF-16LE"},
        {"options.encoding"},
    ),
    "mark": ("\ufeffid,name\n1,Jürg\n", {"header": "true"}, set()),
    "backslash": (
        'id,name\n1,"a \\"b\\", c"\n2,"d"\n',
        {"escape": "\\", "header": "true"},
        {"options.escape"},
    ),
}


@pytest.mark.parametrize("case", CSV_CASES)
def test_csv_is_described_by_its_own_options(tmp_path: Path, case: str) -> None:
    content, options, uncertain = CSV_CASES[case]
    scaffold, tables = init(tmp_path, {"t/a.csv": content})
    found = dict(tables["table_t" if "table_t" in tables else "t"].options)
    if case == "ambiguous":
        found.setdefault("sep", ",")
    assert found == options
    marked = {key.partition(".t.")[2] for key in scaffold.checks}
    assert {key for key in marked if key.startswith("options")} == uncertain


def test_files_with_a_byte_order_mark_can_have_another_encoding(tmp_path: Path) -> None:
    marked, other = "\ufeffid;name\n1;Jürg\n", "id;name\n2;Jörg\n".encode("latin-1")
    scaffold, tables = init(tmp_path, {"t/a.csv": marked, "t/b.csv": other})
    assert tables["t"].options["encoding"] == "windows-1252"
    assert "Other files" not in scaffold.checks["tables.t.options.encoding"]
    scaffold, _ = init(tmp_path / "unmarked", {"t/a.csv": marked[1:], "t/b.csv": other})
    assert "Other files are UTF-8" in scaffold.checks["tables.t.options.encoding"]


def test_records_with_other_numbers_of_fields_are_counted(tmp_path: Path) -> None:
    rows = "id,name\n" + "".join(f"{number},a\n" for number in range(98)) + "99,a,b\n"
    scaffold, _ = init(tmp_path, {"t/a.csv": rows})
    assert scaffold.checks["tables.t.options.sep"].startswith("1.0% of the records do not have 2 fields")


def test_lines_of_comments_are_skipped(tmp_path: Path) -> None:
    text = "# exported 2026-05-01\n# by hand\ntime;sensor;value\n2026-05-01;s1;1.5\n2026-05-02;s2;2.5\n"
    scaffold, tables = init(tmp_path, {"sensors/a.csv": text})
    assert tables["sensors"].options == {"comment": "#", "sep": ";", "header": "true"}
    check = scaffold.checks["tables.sensors.options.comment"]
    assert check == "2 lines begin with `#`, such as `# exported 2026-05-01`: comments are skipped."


def test_a_number_sign_inside_a_quoted_field_is_no_comment(tmp_path: Path) -> None:
    _, tables = init(tmp_path, {"notes/a.csv": 'id,text\n1,"one\n# two"\n2,"three"\n'})
    assert tables["notes"].options == {"header": "true"}


def test_a_line_of_names_after_a_number_sign_is_no_comment(tmp_path: Path) -> None:
    _, tables = init(tmp_path, {"calls/a.tsv": "#chrom\tpos\tid\n1\t5\tx\n2\t6\ty\n"})
    assert tables["calls"].options == {"sep": "\\t", "header": "true"}


def test_files_whose_columns_changed_are_separated_without_a_doubt(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "people/1.csv": "id,name,zip\n1,Ann,01234\n2,Bob,99999\n",
        "people/2.csv": "id,name,zip,email\n3,Cy,00001,c@x.org\n",
    }
    scaffold, tables = init(tmp_path, files)
    assert tables["people"].options == {"header": "true"}
    assert not [key for key in scaffold.checks if "options" in key]


def test_json_layouts_are_told_apart(tmp_path: Path) -> None:
    nested = {"id": 1, "address": {"city": None}, "tags": None}
    files: dict[str, str | bytes] = {
        "lines/a.json": to_lines(nested, {"id": 2, "tags": ["a"]}),
        "arrays/a.json": json.dumps([nested, nested | {"id": 2}], indent=2),
        "documents/a.json": json.dumps(nested | {"items": [{"x": 1}, {"x": 2}]}, indent=2),
        "joined/a.json": '{"id": 1}{"id": 2}',
        "both/a.json": to_lines(nested, nested | {"id": 2}),
        "both/b.json": json.dumps(nested | {"id": 3}, indent=2),
    }
    scaffold, tables = init(tmp_path, files)
    assert tables["arrays"].format == "json_array"
    multi_line = {name for name, table in tables.items() if table.options.get("multiLine") == "true"}
    assert multi_line == {"both", "documents"}
    assert "explode: items" in scaffold.checks["tables.documents.path"]
    assert "tables.both.options.multiLine" in scaffold.checks
    assert all(table.record_key == ("id",) for table in tables.values())


def test_columns_of_parquet_are_read_with_their_types(tmp_path: Path) -> None:
    times = pa.array(range(150), pa.timestamp("us"))
    table = pa.table({"id": range(150), "updated_at": times, "nested": [[1]] * 150})
    (tmp_path / "landing" / "pq").mkdir(parents=True)
    pq.write_table(table, tmp_path / "landing" / "pq" / "a.parquet")
    scaffold, tables = init(tmp_path, {})
    assert (tables["pq"].record_key, tables["pq"].ordering) == (("id",), ("updated_at",))
    assert not scaffold.checks


def test_row_tag_of_xml_is_the_most_frequent_element(tmp_path: Path) -> None:
    rows = "<rows><title>x</title><row><id>1</id></row><row><id>2</id></row></rows>"
    scaffold, tables = init(tmp_path, {"books/a.xml": rows})
    assert tables["books"].options == {"rowTag": "row"}
    assert tables["books"].record_key == ("id",)
    assert "title" in scaffold.checks["tables.books.options.rowTag"]


def test_folders_that_divide_a_table_are_its_columns(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        f"raw/clicks/day=2026-01-0{day}/hour={day}/a.json": to_lines({"page": "/"}) for day in (1, 2)
    }
    _, tables = init(tmp_path, files)
    assert tables["clicks"].path == ("raw/clicks/**/*.json",)
    assert tables["clicks"].partition_columns == ("day", "hour")


def test_sibling_folders_are_one_table_only_if_their_columns_are_similar(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "orders/eu/a.json": list_ids(0, 3),
        "orders/us/a.json": list_ids(3, 6),
        "shop/people/a.json": to_lines({"name": "a", "age": 1}),
        "shop/places/a.json": to_lines({"zip": "a", "city": "b"}),
    }
    _, tables = init(tmp_path, files)
    assert {name: table.path[0] for name, table in tables.items()} == {
        "orders": "orders/**/*.json",
        "people": "shop/people/**/*.json",
        "places": "shop/places/**/*.json",
    }


def test_files_of_the_top_folder_are_split_by_name_only_if_their_columns_differ(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "customers.csv": "customer_id,name\n1,a\n",
        "orders_2026-01-01.csv": "order_id,amount\n1,2\n",
        "orders_2026-01-02.csv": "order_id,amount\n2,2\n",
        "a.json": to_lines({"id": 1}),
        "b7.json": to_lines({"id": 2}),
    }
    _, tables = init(tmp_path, files)
    assert {name: table.path[0] for name, table in tables.items()} == {
        "customers": "customers.csv",
        "orders": "orders_[0-9]*.csv",
        "json": "*.json",
    }


def test_notes_and_markers_are_no_table_but_a_folder_of_manuals_is(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = dict.fromkeys(
        (
            *("data/a.json", "data/readme.md", "manuals/a.pdf", "manuals/deep/b.html", "LICENSE.md", "x.bak"),
            *("data/_SUCCESS", "data/_delta_log/0.json", ".hidden/a.json", "data.zip"),
        ),
        "{}",
    )
    scaffold, tables = init(tmp_path, files)
    found = {table.path[0]: table.effective_mode for table in tables.values()}
    assert found == {"data/**/*.json": "append", "manuals/**/*.{html,pdf}": "mirror"}
    assert "4 files in no table: LICENSE.md, data.zip" in " ".join(scaffold.notes)


def test_two_formats_of_one_folder_are_two_tables(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"events/a.json": "[{}]", "events/a.parquet": b"no parquet"}
    scaffold, tables = init(tmp_path, files)
    assert set(tables) == {"events_data_json_array", "events_data_parquet"}
    assert "not readable" in scaffold.checks["tables.events_data_parquet.path"]


def test_corrupt_and_empty_files_are_reported_and_never_raise(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        **{"gz/a.json.gz": b"not gzip", "empty/a.csv": "", "text/a.json": "hello", "xml/a.xml": "<a>"},
        **{"zeros/a.csv": b"\0" * 50, "header/a.csv": "id,name\n", "names/ÿ\x07: #.json": to_lines({"a": 1})},
    }
    scaffold, tables = init(tmp_path, files)
    assert set(tables) == {"gz", "empty", "text", "xml", "zeros", "header", "names"}
    for name in ("gz", "empty", "text", "xml"):
        assert f"tables.{name}.path" in scaffold.checks, name
    assert "header" in tables["empty"].options


def test_limits_are_kept_and_reported(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {f"orders/{number}.json": list_ids(0, 1) for number in range(20)}
    scaffold, _ = init(tmp_path, files, objects=10, files_a_table=2)
    assert "the first 10 objects were listed" in scaffold.notes[0]
    assert "2 rows of 2 of 10 files" in scaffold.config_path.read_text()


def test_of_a_large_file_the_first_rows_are_read(tmp_path: Path) -> None:
    rows = "".join(f"{number},a{number}\n" for number in range(1000))
    files: dict[str, str | bytes] = {
        "plain/a.csv": "id,name\n" + rows,
        "packed/a.csv.gz": gzip.compress(("id,name\n" + rows).encode()),
    }
    scaffold, tables = init(tmp_path, files, bytes_a_file=2_000)
    assert {table.record_key for table in tables.values()} == {("id",)}
    assert scaffold.config_path.read_text().count("read the first ") == 2


def test_empty_and_missing_folders_get_an_example(tmp_path: Path) -> None:
    scaffold, tables = init(tmp_path, {})
    assert "does not exist yet" in scaffold.notes[0]
    (tmp_path / "landing").mkdir()
    (tmp_path / "headwater.yaml").unlink()
    scaffold, tables = init(tmp_path, {})
    assert "no data files" in scaffold.notes[0]
    assert set(tables) == {"landing"}


def test_without_inspection_nothing_is_read(tmp_path: Path) -> None:
    put(tmp_path, {"orders/a.json": list_ids(0, 5)})
    scaffold = initialize(ScaffoldRequest(tmp_path, inspect=False), {})
    assert scaffold.tables == ("landing",)


def test_bucket_without_credentials_is_an_error_that_names_both_ways(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    request = ScaffoldRequest(tmp_path, path="s3://acme/landing", endpoint="http://127.0.0.1:9")
    with pytest.raises(CredentialsError, match="acme") as caught:
        initialize(request, {})
    assert "AWS_PROFILE" in caught.value.hint
    assert "--no-inspect" in caught.value.hint
    assert not (tmp_path / "headwater.yaml").exists()


def test_existing_file_is_reported_before_anything_is_listed(tmp_path: Path) -> None:
    (tmp_path / "headwater.yaml").write_text("mine")
    with pytest.raises(UsageError, match="already exists"):
        initialize(ScaffoldRequest(tmp_path, path="s3://acme", endpoint="http://127.0.0.1:9"), {})
