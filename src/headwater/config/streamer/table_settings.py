"""Converts what a job of HoodieStreamer says of its table: keys, order, merging, layout, transforms."""

from headwater.config.hudi.checking import PREFIX, iter_option_problems
from headwater.config.hudi.table_option import HudiOption, find_choice
from headwater.config.hudi.table_sections import IndexConfig
from headwater.config.problems.problem import KeyPath
from headwater.config.streamer.rules import (
    CHANGE_RECORDS,
    OF_BUCKETS,
    OF_TABLE,
    PAYLOADS,
    REASONS,
    REASONS_OF_HUDI,
    STARTS,
    read_instant,
    read_list,
)
from headwater.config.streamer.settings_left import SettingsLeft, find_reason, strip_prefix
from headwater.config.table.fields import TableFields

_WRITE = "hoodie.datasource.write"
_GENERATORS = ("simple", "complex", "custom", "timestamp", "nonpartition")
"""Beginnings of Hudi's key generators that `record_key` and `partition` replace."""
_RENAMED_INDEXES = {"RECORD_INDEX": "GLOBAL_RECORD_LEVEL_INDEX"}
_OVERWRITES = "with `mode: mirror` the rows of an overwritten object are replaced"


def convert_table(left: SettingsLeft, table: KeyPath) -> None:
    """Convert the settings of one table at `table`, a path such as `tables.orders`."""
    merges = _convert_operation(left, table)
    # First, as a transformer can also decide how rows are merged.
    _convert_transforms(left, table)
    _convert_merging(left, table, merges=merges)
    _convert_partition(left, table)
    _convert_index(left, table, merges=merges)
    _convert_layout(left, table)
    _convert_start(left, table)
    left.convert(OF_TABLE, table)
    for name, key in (
        ("source-limit", "max_bytes_per_trigger"),
        ("min-sync-interval-seconds", "min_sync_interval"),
    ):
        text = left.take_flag(name)
        if text is not None and not text.isdecimal():
            left.leave_out(f"--{name}", text, "not a number")
        elif text is not None and 0 < int(text) < 2**62:
            left.put((*table, key), int(text), f"--{name}", text)


def convert_rest(left: SettingsLeft, table: KeyPath) -> None:
    """Pass the other options of Hudi on to the table, and note those without an equivalent."""
    passed = {}
    for key, text in left.properties.items():
        rest = strip_prefix(key)
        if rest != key:
            left.leave_out(key, text, find_reason(REASONS, rest) or "no equivalent")
        elif reason := find_reason(REASONS_OF_HUDI, key):
            left.leave_out(key, text, reason)
        elif key.startswith(PREFIX):
            passed[key] = text
        else:
            left.leave_out(key, text, "not an option of Hudi")
    left.properties.clear()
    wrong = dict(iter_option_problems(passed))
    for key, text in passed.items():
        if key in wrong:
            left.leave_out(key, text, wrong[key])
        else:
            left.put((*table, "hoodie", key), text, key, text)


def _convert_operation(left: SettingsLeft, table: KeyPath) -> bool:
    """Return whether rows replace those with the same key."""
    operation = (left.take_flag("op") or left.take_text(f"{_WRITE}.operation") or "UPSERT").upper()
    drops = (left.take_flag("filter-dupes") or "false") == "true"
    key = left.take(f"{_WRITE}.recordkey.field", "hoodie.table.recordkey.fields")
    if operation not in ("UPSERT", "INSERT", "BULK_INSERT"):
        left.leave_out("--op", operation, _OVERWRITES)
    if operation in ("INSERT", "BULK_INSERT") or key is None:
        left.put((*table, "mode"), "append", "--op", operation)
        if operation == "BULK_INSERT":
            left.put((*table, "operation"), "bulk_insert", "--op", operation)
        if drops and key:
            left.put((*table, "filter_duplicates"), True, "--filter-dupes", "true")
            left.put((*table, "record_key"), read_list(key[1]), *key)
        elif key:
            left.leave_out(*key, "`mode: append` identifies rows by event and row")
        return False
    if drops:
        left.leave_out("--filter-dupes", "true", "rows replace those with the same key")
    left.put((*table, "record_key"), read_list(key[1]), *key)
    return True


def _convert_merging(left: SettingsLeft, table: KeyPath, *, merges: bool) -> None:
    payload = left.take_flag("payload-class") or left.take_text(f"{_WRITE}.payload.class")
    mode = (left.take_flag("merge-mode") or left.take_text("hoodie.write.record.merge.mode")).upper()
    mergers = left.take_flag("merge-impl-classes")
    given = left.take_flag("source-ordering-fields")
    order = left.take(
        "hoodie.table.ordering.fields", f"{_WRITE}.precombine.field", "hoodie.table.precombine.field"
    )
    order = ("--source-ordering-fields", given) if given else order
    if not merges:
        given_up = ("--payload-class", payload), ("--merge-mode", mode), ("--merge-impl-classes", mergers)
        for setting, text in (*given_up, order or ("", "")):
            if text:
                left.leave_out(setting, text, "`mode: append` merges no rows")
        return
    simple = payload.rsplit(".", 1)[-1]
    if simple in CHANGE_RECORDS:
        left.put((*table, "changes", "preset"), CHANGE_RECORDS[simple], "--payload-class", payload)
    elif payload:
        name, value = PAYLOADS.get(simple, ("payload", payload))
        left.put((*table, name), value, "--payload-class", payload)
    if choice := find_choice(TableFields, "merge_mode", mode):
        left.put((*table, "merge_mode"), choice, "--merge-mode", mode)
    elif mode and mergers:
        left.put((*table, "merger"), read_list(mergers)[0], "--merge-impl-classes", mergers)
        mergers = None
    elif mode:
        left.leave_out("--merge-mode", mode, "allowed are commit_time and event_time, or a `merger`")
    if mergers:
        left.leave_out("--merge-impl-classes", mergers, "they apply with --merge-mode CUSTOM only")
    if order and _is_by_commit(left, table):
        left.leave_out(*order, "with `merge_mode: commit_time` the row that is written last wins")
    elif order:
        _put_order(left, table, *order)


def _put_order(left: SettingsLeft, table: KeyPath, setting: str, text: str) -> None:
    preset = left.draft.get((*table, "changes", "preset"))
    if preset is None:
        left.put((*table, "ordering"), read_list(text), setting, text)
    elif preset == "dms":
        left.put((*table, "changes", "sequence"), read_list(text), setting, text)
    else:
        left.leave_out(setting, text, "the preset orders changes by their place in the database's log")


def _is_by_commit(left: SettingsLeft, table: KeyPath) -> bool:
    return left.draft.get((*table, "merge_mode")) == "commit_time"


def _convert_partition(left: SettingsLeft, table: KeyPath) -> None:
    fields = left.take(f"{_WRITE}.partitionpath.field", "hoodie.table.partition.fields")
    generator = left.take(f"{_WRITE}.keygenerator.class", f"{_WRITE}.keygenerator.type")
    kind = generator[1].rsplit(".", 1)[-1].lower().replace("_", "") if generator else ""
    if generator and not kind.startswith(_GENERATORS):
        left.leave_out(*generator, "derive keys and partition with a transform")
    names = [name.partition(":") for name in read_list(fields[1])] if fields else []
    if not fields or not names:
        return
    if "timestamp" in kind or any(way.upper() == "TIMESTAMP" for _, _, way in names):
        left.leave_out(*fields, REASONS_OF_HUDI["hoodie.keygen.timebased."])
    elif kind.startswith("nonpartition"):
        left.leave_out(*fields, "the key generator makes no partitions")
    else:
        left.put((*table, "partition"), [name for name, _, _ in names], *fields)
        _convert_choice(left, table, "partition_style")
        if encoded := left.take(f"{_WRITE}.partitionpath.urlencode"):
            left.put((*table, "url_encode_partitions"), encoded[1].lower() == "true", *encoded)


def _convert_choice(left: SettingsLeft, table: KeyPath, name: str) -> None:
    """Convert a key whose values are words of Hudi's, unless it is the default."""
    field = TableFields.model_fields[name]
    found = left.take(next(one.key for one in field.metadata if isinstance(one, HudiOption)))
    choice = find_choice(TableFields, name, found[1]) if found else None
    if found and choice is None:
        left.leave_out(*found, f"see {name}")
    elif found and choice != field.default:
        left.put((*table, name), choice, *found)


def _convert_index(left: SettingsLeft, table: KeyPath, *, merges: bool) -> None:
    kind = left.take("hoodie.index.type")
    if kind is None:
        return
    name = find_choice(IndexConfig, "type", _RENAMED_INDEXES.get(kind[1].upper(), kind[1]))
    if not merges or name is None:
        left.leave_out(*kind, "`mode: append` looks up no keys" if name else "no such index in Hudi 1.2")
        return
    left.put((*table, "index", "type"), name, *kind)
    if name == "bucket":
        left.convert(OF_BUCKETS, table)


def _convert_layout(left: SettingsLeft, table: KeyPath) -> None:
    kind = left.take_flag("table-type") or left.take_text(f"{_WRITE}.table.type", "hoodie.table.type")
    if kind.upper() == "MERGE_ON_READ":
        left.put((*table, "table_type"), "merge_on_read", "--table-type", kind)
    elif kind.upper() not in ("", "COPY_ON_WRITE"):
        left.leave_out("--table-type", kind, "allowed are COPY_ON_WRITE and MERGE_ON_READ")
    base = left.take_flag("base-file-format") or ""
    if base.upper() == "ORC":
        left.put((*table, "base_file_format"), "orc", "--base-file-format", base)
    elif base.upper() not in ("", "PARQUET"):
        left.leave_out("--base-file-format", base, "allowed are parquet and orc")
    for name in ("max-pending-compactions", "max-pending-clustering"):
        text = left.take_flag(name)
        if text is not None and text != "5":
            left.leave_out(
                f"--{name}", text, f"see {name.replace('-', '_')}, with services of another process"
            )


def _convert_start(left: SettingsLeft, table: KeyPath) -> None:
    """Convert where the job begins. A given checkpoint takes precedence over a missing one."""
    reads_latest = left.take("source.hoodieincr.read_latest_on_missing_ckpt")
    strategy = left.take("source.hoodieincr.missing.checkpoint.strategy")
    checkpoint = left.take_flag("checkpoint")
    if checkpoint is not None:
        if time := read_instant(checkpoint):
            left.put((*table, "start_from"), time, "--checkpoint", checkpoint)
            left.draft.note(
                "`start_from` is in UTC, and compared with headwater's own commits of events; to leave out "
                "older objects of the bucket, add `modified_after`"
            )
        else:
            left.leave_out("--checkpoint", checkpoint, "not an instant; set start_from to a time")
    elif reads_latest and reads_latest[1].lower() == "true":
        left.put((*table, "start_from"), "latest", *reads_latest)
    elif strategy and (start := STARTS.get(strategy[1].upper())) is None:
        left.leave_out(*strategy, "allowed are READ_LATEST and READ_UPTO_LATEST_COMMIT; see start_from")
    elif strategy and start == "latest":
        left.put((*table, "start_from"), start, *strategy)


def _convert_transforms(left: SettingsLeft, table: KeyPath) -> None:
    classes = left.take_flag("transformer-class")
    steps: list[dict[str, object]] = []
    for entry in read_list(classes or ""):
        mark, sign, found = entry.partition(":")
        name = found if sign else entry
        ending = f".{mark}" if sign else ""
        simple = name.rsplit(".", 1)[-1]
        sql = left.take_text(f"transformer.sql{ending}") if simple == "SqlQueryBasedTransformer" else ""
        file = left.take_text(f"transformer.sql.file{ending}") if simple == "SqlFileBasedTransformer" else ""
        if sql:
            steps.append({"sql": sql.replace("<SRC>", "input")})
        elif file:
            left.leave_out(
                "--transformer-class", entry, f"write `sql_file: {file}`, with `input` in place of <SRC>"
            )
        elif simple == "FlatteningTransformer":
            steps.append({"flatten": {}})
        elif simple in CHANGE_RECORDS:
            left.put((*table, "changes", "preset"), CHANGE_RECORDS[simple], "--transformer-class", entry)
        else:
            steps.append({"java": name})
    if steps:
        left.put((*table, "transform"), steps, "--transformer-class", classes or "")
    if any("*" not in str(step.get("sql", "*")) for step in steps):
        left.draft.note("a transform's SELECT must also select `_headwater_source`, as `*` does")
