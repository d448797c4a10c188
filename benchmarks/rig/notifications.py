"""S3 notifications as S3 sends them (about 850 bytes), and a process that loads a queue with them.

`python -m benchmarks.rig.notifications ENDPOINT QUEUE_URL COUNT SEED`
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone

from headwater.demo.landing_zone import build_clients

BUCKET = "benchmark-landing"
_THREADS = 8
_BATCH = 10


def build_body(number: int, seed: int, now: datetime) -> str:
    """One notification of one object; no two (number, seed) have the same key or sequencer."""
    moment = now + timedelta(milliseconds=number)
    record = {
        "eventVersion": "2.1",
        "eventSource": "aws:s3",
        "awsRegion": "us-east-1",
        "eventTime": moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z",
        "eventName": "ObjectCreated:Put",
        "userIdentity": {"principalId": "AWS:AROAEXAMPLEEXAMPLE:loader"},
        "requestParameters": {"sourceIPAddress": "10.1.2.3"},
        "responseElements": {
            "x-amz-request-id": f"{number:016X}",
            "x-amz-id-2": "EXAMPLE123/5678abcdefghijklambdaisawesome/mnopqrstuvwxyzABCDEFGH",
        },
        "s3": {
            "s3SchemaVersion": "1.0",
            "configurationId": "landing-to-queue",
            "bucket": {
                "name": BUCKET,
                "ownerIdentity": {"principalId": "A3EXAMPLE"},
                "arn": f"arn:aws:s3:::{BUCKET}",
            },
            "object": {
                "key": f"orders/day%3D2026-05-01/{seed:04d}/part-{number:08d}.json",
                "size": 1024 + number % 997,
                "eTag": f"{seed:016x}{number:016x}",
                "sequencer": f"00{seed:04X}{number:012X}",
            },
        },
    }
    return json.dumps({"Records": [record]})


def load_queue(endpoint: str, queue_url: str, count: int, seed: int) -> None:
    """Send `count` messages from a process of its own, so that no client of ours is warm or busy."""
    command = [sys.executable, "-m", __spec__.name, endpoint, queue_url, str(count), str(seed)]
    subprocess.run(command, check=True)


def _iter_batches(count: int, seed: int) -> Iterator[list[tuple[str, str]]]:
    now = datetime.now(timezone.utc)
    for first in range(0, count, _BATCH):
        numbers = range(first, min(first + _BATCH, count))
        yield [(str(number), build_body(number, seed, now)) for number in numbers]


def main(endpoint: str, queue_url: str, count: int, seed: int) -> None:
    """Send everything with a few threads."""
    sqs = build_clients(endpoint).sqs

    def send(batch: list[tuple[str, str]]) -> None:
        answer = sqs.send_message_batch(
            QueueUrl=queue_url,
            Entries=[{"Id": entry_id, "MessageBody": body} for entry_id, body in batch],
        )
        if answer.get("Failed"):
            raise RuntimeError(f"the queue refused messages: {answer['Failed'][0]}")

    with ThreadPoolExecutor(_THREADS) as pool:
        for _ in pool.map(send, _iter_batches(count, seed)):
            pass


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
