"""The demo's operations on bucket and queue, with their times: planned before anything runs. Pure."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from headwater.demo.shop_data import (
    Row,
    compress,
    iter_clicks,
    iter_order_changes,
    iter_product_changes,
    to_csv,
    to_json_lines,
    to_parquet,
)

OBJECTS_PER_SECOND = 6.0
MIN_OBJECTS = 48
TABLES = 3
# S3 allows names with each of these, and each has caused lost files in practice.
ODD_NAMES = ("click+collect", "100% cotton", "%41", "two words", "no #7", "naïve 注文 😀")
DAYS = ("2026-05-04", "2026-05-05")
MISSING_KEY = "orders/2026/05/04/orders-never-uploaded.json"
_RESENT_SHARE = 0.05
_RESENT_WITHIN = 10.0


@dataclass(frozen=True, slots=True)
class Put:
    """Upload an object `at` seconds after the start; `note` says what is odd about it."""

    at: float
    key: str
    body: bytes
    note: str = ""


@dataclass(frozen=True, slots=True)
class Resend:
    """Resend the notification of an object that was uploaded before."""

    at: float
    key: str


@dataclass(frozen=True, slots=True)
class Announce:
    """Send a notification of an object that does not exist."""

    at: float
    key: str


@dataclass(frozen=True, slots=True)
class SendText:
    """Send a message that is not a notification."""

    at: float
    body: str


Step = Put | Resend | Announce | SendText


@dataclass(frozen=True, slots=True)
class Scenario:
    """`openers`: the first file of each table, before the shop opens; `steps` in order of time."""

    openers: tuple[Put, ...]
    steps: tuple[Step, ...]

    @property
    def puts(self) -> tuple[Put, ...]:
        """Return all uploads, in order."""
        return (*self.openers, *(step for step in self.steps if isinstance(step, Put)))

    @property
    def announced_keys(self) -> tuple[str, ...]:
        """Return the keys of all expected events, each once: a resent one is the same event."""
        announced = (step.key for step in self.steps if isinstance(step, Put | Announce))
        return (*(put.key for put in self.openers), *announced)

    @property
    def poison_count(self) -> int:
        """Return the number of unreadable messages."""
        return sum(isinstance(step, SendText) for step in self.steps)

    @property
    def resent_count(self) -> int:
        """Return the number of notifications sent twice."""
        return sum(isinstance(step, Resend) for step in self.steps)


def plan_scenario(seed: int, seconds: float, per_second: float = OBJECTS_PER_SECOND) -> Scenario:
    """Plan about `per_second` objects a second, at least `MIN_OBJECTS`, with each kind of trouble."""
    rng = random.Random(seed)  # noqa: S311 - sample data, no secret
    total = max(MIN_OBJECTS, round(seconds * per_second))
    files = _mix(rng, _plan_orders(rng, total), _plan_clicks(rng, total), _plan_products(rng, total))
    openers = tuple(Put(0, key, body) for key, body in files[:TABLES])
    rest = files[TABLES:]
    gap = seconds / len(rest)
    puts = [Put(round((at + rng.random()) * gap, 3), key, body) for at, (key, body) in enumerate(rest)]
    steps: list[Step] = [*puts, *_plan_trouble(seconds), *_plan_resends(rng, puts, seconds)]
    return Scenario(openers, tuple(sorted(steps, key=lambda step: step.at)))


File = tuple[str, bytes]


def _plan_orders(rng: random.Random, total: int) -> list[File]:
    changes = iter_order_changes(rng)
    batches = [_take(changes, rng.randint(3, 12)) for _ in range(round(total * 0.45))]
    # Some batches are late: their changes are older than the table's state.
    for at in range(6, len(batches), 9):
        batches.insert(min(at + 5, len(batches)), batches.pop(at))
    return _name_files("orders/2026/05/04", "orders", "json", [to_json_lines(rows) for rows in batches])


def _plan_clicks(rng: random.Random, total: int) -> list[File]:
    clicks = iter_clicks(rng)
    bodies = [to_csv(_take(clicks, rng.randint(5, 30))) for _ in range(round(total * 0.37))]
    half = len(bodies) // 2
    return [
        *_name_files(f"clicks/day={DAYS[0]}", "clicks", "csv", bodies[:half]),
        *_name_files(f"clicks/day={DAYS[1]}", "clicks", "csv", bodies[half:]),
    ]


def _plan_products(rng: random.Random, total: int) -> list[File]:
    changes = iter_product_changes(rng)
    bodies = [to_parquet(_take(changes, 16 if at == 0 else rng.randint(1, 6))) for at in range(total // 6)]
    # Parquet has its own compression.
    return _name_files("products", "products", "parquet", bodies, compress_every=0)


def _name_files(
    folder: str, stem: str, ending: str, bodies: Sequence[bytes], compress_every: int = 4
) -> list[File]:
    """Assign keys to files: odd ones spread evenly, every fourth file gzipped."""
    step = max(1, (len(bodies) - 1) // len(ODD_NAMES))
    odd = {1 + at * step: name for at, name in enumerate(ODD_NAMES)}
    files = []
    for at, body in enumerate(bodies):
        key = f"{folder}/{odd[at] + '/' if at in odd else ''}{stem}-{at:04d}.{ending}"
        gzipped = compress_every and at % compress_every == compress_every - 1
        files.append((f"{key}.gz", compress(body)) if gzipped else (key, body))
    return files


def _mix(rng: random.Random, *groups: list[File]) -> list[File]:
    """Return all files, with groups mixed and the order inside each group kept."""
    labels = [at for at, group in enumerate(groups) for _ in group]
    rng.shuffle(labels)
    # One of each first: they open the shop.
    for at in reversed(range(len(groups))):
        labels.remove(at)
        labels.insert(0, at)
    iterators = [iter(group) for group in groups]
    return [next(iterators[label]) for label in labels]


def _plan_trouble(seconds: float) -> Iterator[Step]:
    # Separate names and ids: no other file changes their meaning.
    order = {
        "order_id": "O-1",
        "customer_id": 1,
        "city": "Oslo",
        "status": "paid",
        "amount": 9.5,
        "lines": [],
    }
    good = [order | {"order_id": f"O-{at}", "updated_at": f"2026-05-04T08:00:0{at}.000Z"} for at in (1, 2, 3)]
    first, second, third = (to_json_lines([row]) for row in good)
    torn = b'{"order_id": "O-4", "amount": 12.5, "sta\n'
    whole = compress(to_json_lines(_take(iter_order_changes(random.Random(0)), 60)))  # noqa: S311 - as above
    yield SendText(seconds * 0.25, "ping from a colleague's laptop, please ignore")
    yield Put(seconds * 0.35, "clicks/", b"", "a folder marker")
    yield Put(
        seconds * 0.4, "orders/2026/05/04/orders-cut.json.gz", whole[: len(whole) // 2], "a truncated gzip"
    )
    yield Put(
        seconds * 0.5,
        "orders/2026/05/04/orders-torn.json",
        first + second + torn + third,
        "a broken line among good ones",
    )
    yield Put(seconds * 0.6, f"clicks/day={DAYS[1]}/clicks-empty.csv", b"", "an empty object")
    yield Announce(seconds * 0.7, MISSING_KEY)
    yield Put(seconds * 0.8, "readme.txt", b"Of no table.\n", "an object of no table")


def _plan_resends(rng: random.Random, puts: Sequence[Put], seconds: float) -> Iterator[Resend]:
    for put in rng.sample(list(puts), max(4, round(len(puts) * _RESENT_SHARE))):
        yield Resend(round(put.at + rng.random() * min(_RESENT_WITHIN, seconds - put.at), 3), put.key)


def _take(rows: Iterator[Row], number: int) -> list[Row]:
    return list(islice(rows, number))
