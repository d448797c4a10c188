"""The path from bucket to queue: duplicates, reorders, delays, loses and wraps records, and adds garbage."""

import json
from collections import Counter
from urllib.parse import unquote_plus

from simulator.outside.bucket import BUCKET, Record
from simulator.outside.queue import SimulatedQueue

TEST_EVENT = json.dumps({"Service": "Amazon S3", "Event": "s3:TestEvent", "Bucket": BUCKET})
RUBBISH = (
    "{not json",
    json.dumps({"hello": "world"}),
    TEST_EVENT,
    json.dumps({"Records": [{"eventVersion": "9.0", "eventSource": "aws:s3"}]}),
)


class Channel:
    """Holds undelivered notifications in the order of their creation."""

    def __init__(self, queue: SimulatedQueue) -> None:
        self._queue = queue
        self._waiting: list[Record] = []
        self.sent: list[str] = []
        self.counts: Counter[str] = Counter()
        self.rubbish: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def notify(self, record: Record | None) -> None:
        if record is not None:
            self._waiting.append(record)

    def deliver(self, index: int, shape: int, *, keep: bool = False) -> None:
        """Sends the chosen notification in one of the shapes; `keep` leaves it for another delivery."""
        if not self._waiting:
            return
        at = index % len(self._waiting)
        record = self._waiting[at] if keep else self._waiting.pop(at)
        self.counts["duplicated" if keep else "reordered" if at else "delivered"] += 1
        self._send(_shape([record], shape))

    def deliver_all(self, shape: int = 0) -> None:
        """Sends all notifications in one message, as some senders do."""
        if self._waiting:
            self.counts["delivered"] += len(self._waiting)
            records, self._waiting = self._waiting, []
            self._send(_shape(records, shape))

    def drop(self, index: int) -> Record | None:
        if not self._waiting:
            return None
        self.counts["dropped"] += 1
        return self._waiting.pop(index % len(self._waiting))

    def replay(self, index: int) -> None:
        """Sends an old message again as a new one."""
        if self.sent:
            self.counts["replayed"] += 1
            self._queue.send(self.sent[index % len(self.sent)])

    def send_rubbish(self, kind: int) -> None:
        """Sends an unusable record, alone or alongside a good one."""
        self.counts["rubbish"] += 1
        if kind % 5 == 4 and self._waiting:
            body = json.dumps({"Records": [self._waiting.pop(0), {"eventName": "x"}]})
            self.sent.append(body)
        else:
            body = RUBBISH[kind % len(RUBBISH)]
        self.rubbish[self._queue.send(body)] = body

    def _send(self, body: str) -> None:
        self.sent.append(body)
        self._queue.send(body)


def _shape(records: list[Record], shape: int) -> str:
    body = json.dumps({"Records": records})
    if shape % 3 == 1:
        return json.dumps({"Type": "Notification", "TopicArn": "arn:t", "Message": body})
    if shape % 3 == 2 and len(records) == 1:
        return _to_event_bus(records[0]) or body
    return body


def _to_event_bus(record: Record) -> str | None:
    """Converts the record to EventBridge's form (raw key, other names), or None if it has no such event."""
    name = str(record["eventName"])
    detail_type = "Object Created" if name.startswith("ObjectCreated") else "Object Deleted"
    if name.startswith("ObjectTagging") or name.endswith("DeleteMarkerCreated"):
        return None
    s3 = record["s3"]
    assert isinstance(s3, dict)
    stored = s3["object"]
    found = {"key": unquote_plus(stored["key"]), "sequencer": stored["sequencer"]}
    for theirs, ours in (("version-id", "versionId"), ("size", "size"), ("etag", "eTag")):
        if ours in stored:
            found[theirs] = stored[ours]
    detail = {"bucket": s3["bucket"], "object": found}
    if detail_type == "Object Deleted":
        detail["deletion-type"] = "Permanently Deleted"
    body = {"detail-type": detail_type, "source": "aws.s3", "time": record["eventTime"], "detail": detail}
    return json.dumps(body)
