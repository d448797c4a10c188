"""The demo of Kafka: a broker on this machine, topics of a sample shop, the real `Run`, and a check."""

import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from headwater.app import App
from headwater.app.run import Run, RunObserver
from headwater.capture.quarantine_reader import QuarantineReader
from headwater.config.settings import Settings
from headwater.demo.report import Report
from headwater.ingest.planning.outcome import BatchResult
from headwater.lake.layout import quarantine_path, table_path
from headwater.lake.snapshot_reader import SnapshotReader

TOPICS = ("clicks", "stock")
_PARTITIONS = 3
_A_ROUND = 20
_ROUND_SECONDS = 0.1
_POISON_SHARE = 0.01
_PRODUCTS = 500
_SECONDS = 30.0
_PROGRESS_SECONDS = 5.0

_CONFIG = """\
# Written by `headwater demo --cloud kafka`. The broker ran only during the demo.
source:
  type: kafka
  bootstrap: {bootstrap}
  topics: [clicks, stock]
  cluster: shop
  group: headwater-demo
lake: lake
tables:
  clicks:                    # each message is a row; a bad one is quarantined with its offset
    path: "clicks/**"
    format: json
    message_columns: [timestamp, key]
  stock:                     # compacted: a message is the row of its key, one without a value deletes it
    path: "stock/**"
    format: json
    record_key: sku
    changes: {{preset: kafka}}
"""


def write_config(bootstrap: str) -> str:
    """Return the file that a user would write."""
    return _CONFIG.format(bootstrap=bootstrap)


@dataclass
class _Sent:
    """What was sent: the rows that the tables must have."""

    clicks: set[int] = field(default_factory=set)
    stock: dict[str, int] = field(default_factory=dict)
    bad: int = 0
    messages: int = 0
    deleted: int = 0


class KafkaDemo:
    """One demo: the pipeline in a thread, the messages in this one."""

    def __init__(self, bootstrap: str, settings: Settings, environ: Mapping[str, str]) -> None:
        self._settings = settings
        self._environ = environ
        client: dict[str, Any] = {"bootstrap.servers": bootstrap, "log_level": "2"}
        self._producer = Producer(client)
        self._admin = AdminClient(client)
        self._random = random.Random(20260504)  # noqa: S311 - a scenario, no secret
        self._sent = _Sent()
        self._rows: Counter[str] = Counter()
        self._is_up = threading.Event()

    def play(self, seconds: float, stop: threading.Event, say: Callable[[str], None]) -> Report | None:
        """Send messages for some seconds while the pipeline follows, then compare; None if stopped before."""
        topics = [NewTopic(name, _PARTITIONS, 1) for name in TOPICS]
        for made in self._admin.create_topics(topics).values():
            made.result(_SECONDS)
        ended = threading.Event()
        with ThreadPoolExecutor(1, "pipeline") as threads:
            say("starting Java and Spark (the first start downloads about 90 MB of jars)")
            pipeline = threads.submit(self._follow, ended)
            try:
                while not (self._is_up.wait(0.1) or stop.is_set() or pipeline.done()):
                    continue
                say("the shop is open: messages arrive, tables follow")
                self._send(seconds, stop, say)
            finally:
                ended.set()
            pipeline.result()
        if stop.is_set():
            return None
        say("all messages are sent; reading what is left, then comparing every row")
        self._read_rest(stop)
        return self._compare()

    def _follow(self, ended: threading.Event) -> None:
        app = App(self._settings, environ=self._environ)
        observer = RunObserver(on_batch=self._note_batch)
        try:
            Run(app, observer=observer, on_session=self._is_up.set).until(ended)
        finally:
            app.close()

    def _read_rest(self, stop: threading.Event) -> None:
        app = App(self._settings, environ=self._environ)
        try:
            Run(app, observer=RunObserver(on_batch=self._note_batch)).once(stop)
        finally:
            app.close()

    def _note_batch(self, result: BatchResult) -> None:
        self._rows[result.table] += result.rows

    def _send(self, seconds: float, stop: threading.Event, say: Callable[[str], None]) -> None:
        started = shown = time.monotonic()
        while time.monotonic() - started < seconds and not stop.wait(_ROUND_SECONDS):
            for _ in range(_A_ROUND):
                self._send_click()
                self._send_stock()
            self._producer.poll(0)
            if time.monotonic() - shown >= _PROGRESS_SECONDS:
                shown = time.monotonic()
                rows = ", ".join(f"{name} {self._rows[name]:,} rows written" for name in TOPICS)
                say(f"{self._sent.messages:,} messages sent, {rows}")
        self._producer.flush(_SECONDS)

    def _send_click(self) -> None:
        sent = self._sent
        sent.messages += 1
        value = json.dumps({"id": sent.messages, "page": f"/products/{self._random.randrange(_PRODUCTS)}"})
        if self._random.random() < _POISON_SHARE:
            value = value[: len(value) // 2]
            sent.bad += 1
        else:
            sent.clicks.add(sent.messages)
        self._producer.produce("clicks", value, key=f"visitor-{self._random.randrange(50)}")

    def _send_stock(self) -> None:
        sent, sku = self._sent, f"sku-{self._random.randrange(_PRODUCTS):03d}"
        sent.messages += 1
        if self._random.random() < 0.1:
            sent.deleted += sent.stock.pop(sku, None) is not None
            self._producer.produce("stock", None, key=sku)
        else:
            sent.stock[sku] = sent.messages
            self._producer.produce("stock", json.dumps({"sku": sku, "n": sent.messages}), key=sku)

    def _compare(self) -> Report:
        lake, sent = self._settings.lake, self._sent
        clicks = SnapshotReader(table_path(lake, "clicks")).read(["id"])["id"].to_pylist()
        stock = SnapshotReader(table_path(lake, "stock")).read(["sku", "n"]).to_pylist()
        bad = QuarantineReader(quarantine_path(lake)).list_rows()
        problems = [
            *_find_differences("clicks", Counter(clicks), Counter(sent.clicks)),
            *_find_differences(
                "stock", Counter(map(itemgetter("sku", "n"), stock)), Counter(sent.stock.items())
            ),
        ]
        if len(bad) != sent.bad:
            problems.append(f"quarantine: {len(bad)} messages; {sent.bad} bad ones were sent")
        verdict = "The tables differ from the topics:" if problems else "Every message is in its table once."
        lines = [
            f"clicks  {len(clicks):,} rows, {sent.bad} bad messages in quarantine",
            f"stock   {len(stock):,} rows, {sent.deleted} rows deleted by messages without a value",
            "",
            verdict,
            *problems,
        ]
        return Report(tuple(lines), tuple(problems))


def _find_differences(table: str, found: Counter[Any], expected: Counter[Any]) -> Iterator[str]:
    missing, extra = expected - found, found - expected
    if missing or extra:
        yield f"table {table}: {missing.total():,} rows are missing, {extra.total():,} are unexpected"
