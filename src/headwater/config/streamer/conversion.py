"""Converts jobs of HoodieStreamer to one configuration: a source, a lake, and a table for each job."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from wcmatch import glob

from headwater.config.file_format import infer_format
from headwater.config.problems.problem import Data, KeyPath
from headwater.config.streamer.draft import Draft, LeftOut
from headwater.config.streamer.jobs import StreamerJob
from headwater.config.streamer.kafka_settings import CLASSES as TOPICS
from headwater.config.streamer.kafka_settings import convert_order, convert_topic
from headwater.config.streamer.lake_settings import convert_catalogs, convert_lock, convert_spark
from headwater.config.streamer.rules import OF_OBJECTS, OF_QUEUE, REASONS, REASONS_OF_FLAGS, read_list
from headwater.config.streamer.schema_settings import convert_schema
from headwater.config.streamer.settings_left import SettingsLeft, find_reason, strip_prefix
from headwater.config.streamer.table_settings import convert_rest, convert_table
from headwater.config.table_names import build_table_name
from headwater.errors import UsageError

_EVENTS = {"S3EventsSource": "s3", "GcsEventsSource": "gcs"}
_OBJECTS = {"S3EventsHoodieIncrSource": "s3", "GcsEventsHoodieIncrSource": "gcs"}
_FOLDERS = {
    "JsonDFSSource": "json",
    "CsvDFSSource": "csv",
    "ParquetDFSSource": "parquet",
    "AvroDFSSource": "avro",
    "ORCDFSSource": "orc",
}
_OF_EVENTS = "of the events table, whose layout and keys are headwater's own"
_DEFAULT_CLASS = "JsonDFSSource"
_SCHEMES = {"s3": "s3", "s3a": "s3", "s3n": "s3", "gs": "gcs", "file": "local", "": "local"}


@dataclass(frozen=True, slots=True)
class Conversion:
    """The configuration, the origin of its values by path, and what is not in it."""

    data: Data
    origins: dict[KeyPath, str]
    left_out: tuple[LeftOut, ...]
    notes: tuple[str, ...]


def convert(jobs: Sequence[StreamerJob], *, bucket: str | None = None, lake: str | None = None) -> Conversion:
    """Convert the jobs. `bucket` is needed for jobs over events, which do not name theirs.

    Raises `UsageError` if no job can be converted, or the bucket is missing.
    """
    draft = Draft()
    draft.data |= {"source": {}, "lake": lake or _choose_lake(jobs), "tables": {}}
    # Jobs that capture come first: what they say of the source counts.
    for job in sorted(jobs, key=lambda job: find_class(job) not in _EVENTS):
        _convert_job(job, draft)
    if not draft.data["tables"]:
        reasons = [f"{left.origin}: {left.setting}: {left.reason}" for left in draft.left_out]
        raise UsageError(
            "no job writes a table that headwater can write",
            hint="; ".join(reasons[:5]) or "give the commands or properties of the jobs that write tables",
        )
    _name_bucket(draft, bucket)
    if lake is None:
        draft.note(
            "`lake` is a new location: headwater builds its own tables; compare them before you switch"
        )
    if adoption := _describe_adoption(jobs, draft.get_section(("tables",)), lake):
        draft.note(adoption)
    return Conversion(draft.data, draft.origins, tuple(draft.left_out), tuple(draft.notes))


def find_class(job: StreamerJob) -> str:
    """Return the simple name of the job's source class; without one, that of the source it configures."""
    given = job.flags.get("source-class", "").rsplit(".", 1)[-1]
    if given:
        return given
    keys = {strip_prefix(key): text for key, text in job.properties.items()}
    if "s3.source.queue.url" in keys:
        return "S3EventsSource"
    if "source.gcs.subscription.id" in keys:
        return "GcsEventsSource"
    if "source.kafka.topic" in keys:
        return "JsonKafkaSource"
    if "source.hoodieincr.path" in keys:
        is_google = keys["source.hoodieincr.path"].startswith("gs:")
        return "GcsEventsHoodieIncrSource" if is_google else "S3EventsHoodieIncrSource"
    return _DEFAULT_CLASS


def _describe_adoption(jobs: Sequence[StreamerJob], tables: Collection[str], lake: str | None) -> str:
    """Return how to continue the jobs' own tables instead; empty if their folders fit no lake.

    A lake has each table in a folder with its name.
    """
    jobs = [job for job in jobs if find_class(job) not in _EVENTS]
    paths = [job.flags.get("target-base-path", "").rstrip("/").rpartition("/") for job in jobs]
    parents = {parent for parent, _, _ in paths}
    if len(parents) != 1 or parents == {""} or {name for _, _, name in paths} != set(tables):
        return ""
    (parent,) = parents
    keys = [{strip_prefix(key): text for key, text in job.properties.items()} for job in jobs]
    events = sorted({found["source.hoodieincr.path"] for found in keys if "source.hoodieincr.path" in found})
    command = " ".join(["headwater adopt", *(f"--events {address}" for address in events[:1])])
    step = "" if lake is not None and lake.rstrip("/") == parent else f"set `lake: {parent}`, "
    first = f"to continue the existing tables instead, stop the jobs, {step}"
    return f"{first}and run `{command}` before the first `run`"


def _choose_lake(jobs: Sequence[StreamerJob]) -> str:
    """Return a folder next to the jobs' tables."""
    paths = [job.flags["target-base-path"] for job in jobs if job.flags.get("target-base-path")]
    parent = paths[0].rstrip("/").rpartition("/")[0] if paths else ""
    return f"{parent}/headwater" if parent else "lake"


def _name_bucket(draft: Draft, bucket: str | None) -> None:
    if draft.get(("source", "type")) in ("local", "kafka") or draft.get(("source", "bucket")) is not None:
        return
    if bucket is None:
        raise UsageError(
            "the jobs do not name their bucket: HoodieStreamer takes it from each notification",
            hint="add `--bucket NAME`",
        )
    draft.put(("source", "bucket"), bucket, "--bucket")
    source = draft.get_section(("source",))
    draft.data["source"] = {"type": source.pop("type"), "bucket": source.pop("bucket"), **source}


def _convert_job(job: StreamerJob, draft: Draft) -> None:
    left, source = SettingsLeft(job, draft), find_class(job)
    given = left.take_flag("source-class") or source
    left.take_flag("target-base-path")
    if left.take_flag("continuous"):
        draft.note("`headwater run` is what --continuous is; `headwater run --once` is one round")
    if source in _EVENTS:
        _convert_events(left, _EVENTS[source])
    else:
        name = _choose_name(left, draft)
        table: KeyPath = ("tables", name)
        problem = _convert_source(left, source, table)
        if problem:
            draft.leave_out(left.origin, "--source-class", given, problem)
            draft.get_section(("tables",)).pop(name, None)
            return
        convert_table(left, table)
        convert_schema(left, table)
        if source in TOPICS:
            convert_order(left, table)
        convert_catalogs(left, name)
        convert_lock(left)
        convert_rest(left, table)
    convert_spark(left)
    for flag, text in sorted(left.flags.items()):
        left.leave_out(f"--{flag}", text, REASONS_OF_FLAGS.get(flag, "unknown here"))


def _choose_name(left: SettingsLeft, draft: Draft) -> str:
    given = left.take_flag("target-table") or left.take_text(
        "hoodie.table.name", "hoodie.datasource.write.table.name"
    )
    name = build_table_name(given or left.origin.split(".")[0])
    if draft.get(("tables", name)) is not None:
        number = next(n for n in range(2, 10_000) if draft.get(("tables", f"{name}_{n}")) is None)
        draft.note(f"two jobs write a table {name}; the second is {name}_{number}")
        name = f"{name}_{number}"
    if given and name != given:
        draft.note(f"table {given} is named {name}")
    return name


def _convert_events(left: SettingsLeft, kind: str) -> None:
    """Convert a job that captures notifications."""
    left.put(("source", "type"), kind, "--source-class", kind)
    left.convert(OF_QUEUE, ())
    interval = left.take_flag("min-sync-interval-seconds")
    if interval and not interval.isdecimal():
        left.leave_out("--min-sync-interval-seconds", interval, "not a number")
    elif interval and int(interval):
        left.put(("capture", "min_sync_interval"), int(interval), "--min-sync-interval-seconds", interval)
    convert_lock(left)
    for key, text in left.properties.items():
        rest = strip_prefix(key)
        left.leave_out(key, text, (find_reason(REASONS, rest) if rest != key else "") or _OF_EVENTS)
    left.properties.clear()
    for flag in sorted(left.flags.keys() - REASONS_OF_FLAGS.keys() - {"spark-master"}):
        left.leave_out(f"--{flag}", left.flags.pop(flag), _OF_EVENTS)


def _convert_source(left: SettingsLeft, source: str, table: KeyPath) -> str:
    """Convert where the table's objects are; return why they cannot be read, if so."""
    if source in _OBJECTS:
        if problem := left.draft.put(("source", "type"), _OBJECTS[source], source):
            return f"a lake has one source: {problem}"
        _convert_objects(left, table)
        return ""
    if source in TOPICS:
        return convert_topic(left, source, table)
    if source not in _FOLDERS:
        return "headwater reads objects of a bucket, files of a folder, or topics of Kafka"
    root = left.take("source.dfs.root")
    if root is None:
        return "it names no `source.dfs.root`"
    return _convert_folder(left, table, _FOLDERS[source], root)


def _convert_objects(left: SettingsLeft, table: KeyPath) -> None:
    extension = left.take("source.cloud.data.select.file.extension")
    regex = left.take("source.cloud.data.select.relative.path.regex")
    left.convert(OF_OBJECTS, table)
    file_format = str(left.draft.get((*table, "format")) or "parquet")
    endings = [_write_ending(text) for text in read_list(extension[1])] if extension else [f".{file_format}"]
    path = "**/*" + (endings[0] if len(endings) == 1 else f"{{{','.join(endings)}}}")
    prefix = str(left.draft.get((*table, "prefix")) or "")
    if regex:
        # There, it follows the prefix, and matches any part of a key.
        sign = "/" if prefix and not prefix.endswith("/") else ""
        left.put((*table, "regex"), f".*(?:{prefix}{sign}{regex[1]}).*", *regex)
    elif prefix.endswith("/"):
        path = glob.escape(prefix) + path
    if prefix and (regex or prefix.endswith("/")):
        del left.draft.get_section(table)["prefix"]
    _put_path(left, table, path, file_format, *(extension or ("", "")))


def _write_ending(text: str) -> str:
    """Return the glob for keys that end so: `json` is meant as an extension, `_a.json` as it stands."""
    return f".{text}" if text[0].isalnum() else glob.escape(text)


def _convert_folder(left: SettingsLeft, table: KeyPath, file_format: str, root: tuple[str, str]) -> str:
    address = urlsplit(root[1])
    kind = _SCHEMES.get(address.scheme)
    if kind is None:
        return f"headwater cannot watch {root[1]}"
    place = ("source", "path") if kind == "local" else ("source", "bucket")
    value = address.path if kind == "local" else address.netloc
    known = left.draft.get(place)
    if left.draft.get(("source", "type")) not in (None, kind) or known not in (None, value):
        return f"a lake has one source, and {known or left.draft.get(('source', 'type'))} is it already"
    left.put(("source", "type"), kind, *root)
    left.put(place, value, *root)
    below = "" if kind == "local" else glob.escape(address.path.strip("/") + "/").lstrip("/")
    _put_path(left, table, f"{below}**", file_format, *root)
    for key in [key for key in left.properties if strip_prefix(key).startswith("csv.")]:
        text = left.properties.pop(key)
        left.put((*table, "options", strip_prefix(key).removeprefix("csv.")), text, key, text)
    if kind == "gcs":
        left.draft.note("`headwater up` creates the subscription and the bucket's notifications")
    if kind == "s3":
        left.draft.note("`headwater up` creates the queue and the bucket's notifications")
    return ""


def _put_path(
    left: SettingsLeft, table: KeyPath, path: str, file_format: str, setting: str, text: str
) -> None:
    left.put((*table, "path"), path, setting, text)
    if infer_format(path) == file_format:
        left.draft.get_section(table).pop("format", None)
        left.draft.origins.pop((*table, "format"), None)
    else:
        left.put((*table, "format"), file_format, setting, text)
