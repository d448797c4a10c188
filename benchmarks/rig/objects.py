"""Objects of JSON lines in a bucket, put by a process of its own.

`python -m benchmarks.rig.objects ENDPOINT BUCKET COUNT BYTES`
"""

import hashlib
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from benchmarks.rig.orders import announce, build_file
from headwater.capture.captured_event import CapturedEvent
from headwater.demo.landing_zone import build_clients

_THREADS = 4
_IDS_AN_OBJECT = 100


def iter_objects(count: int, size: int) -> Iterator[tuple[str, bytes, int]]:
    """Key, content and number of rows; the same at every call."""
    for number in range(count):
        data, rows = build_file(size, number * _IDS_AN_OBJECT, number)
        yield f"orders/{number % 50:02d}/{number:06d}.json", data, rows


def put_objects(endpoint: str, bucket: str, count: int, size: int) -> None:
    """Put them all; returns when they are there."""
    command = [sys.executable, "-m", __spec__.name, endpoint, bucket, str(count), str(size)]
    subprocess.run(command, check=True)


def announce_objects(bucket: str, count: int, size: int) -> tuple[list[CapturedEvent], int]:
    """Events of them all, and how many rows they hold."""
    events, total = [], 0
    for number, (key, data, rows) in enumerate(iter_objects(count, size)):
        etag = hashlib.md5(data, usedforsecurity=False).hexdigest()
        events.append(announce("s3", bucket, key, etag, len(data), number))
        total += rows
    return events, total


def main(endpoint: str, bucket: str, count: int, size: int) -> None:
    """Put with a few threads."""
    s3 = build_clients(endpoint).s3

    def put(item: tuple[str, bytes, int]) -> None:
        s3.put_object(Bucket=bucket, Key=item[0], Body=item[1])

    with ThreadPoolExecutor(_THREADS) as pool:
        for _ in pool.map(put, iter_objects(count, size)):
            pass


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
