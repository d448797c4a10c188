"""Changes of a shelf of products, and who asks a server until it answers as they are."""

import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import httpx

Product = Mapping[str, Any]

PAUSE_SECONDS = 0.1
_ANSWER_SECONDS = 10
# As many rows as one answer may have.
_MOST_ROWS = 50


@dataclass(frozen=True, slots=True)
class Change:
    """A product's file is put or, with `is_removal`, removed. `product` is as it is after or was before."""

    product: Product
    is_removal: bool = False

    @property
    def product_id(self) -> str:
        """How answers name it."""
        return str(self.product["product_id"])

    @property
    def key(self) -> str:
        """Its file in the bucket."""
        return f"shelf/{self.product_id}.json"

    def is_told_by(self, hit: Mapping[str, Any] | None) -> bool:
        """Whether an answer with this hit for the product, or with none, is right."""
        if hit is None or self.is_removal:
            return hit is None and self.is_removal
        has_price = hit["fields"]["price"] == self.product["price"]
        return has_price and self.product["description"] in hit["text"]


def plan_changes(there: Sequence[Product], new: Sequence[Product], number: int) -> list[Change]:
    """A new price, other words, a new product and a removal in turns; no product changes twice."""
    old, further = iter(there), iter(new)
    changes: list[Change] = []
    for at in range(number):
        product = next(further) if at % 4 == 2 else next(old)
        if at % 4 == 0:
            product = {**product, "price": product["price"] + 1}
        elif at % 4 == 1:
            product = {**product, "description": f"{product['description']} Now in edition {at}."}
        changes.append(Change(product, is_removal=at % 4 == 3))
    return changes


class Prober:
    """Asks `POST /search`, in a thread of its own, for the products whose change was not answered yet.

    `answered` has the time of the first right answer by product id. That a product is absent counts only
    when it was in an answer since its change was expected.
    """

    def __init__(self, address: str) -> None:
        self._client = httpx.Client(base_url=address, timeout=_ANSWER_SECONDS)
        self._expected: dict[str, Change] = {}
        self._seen: set[str] = set()
        self._stop = threading.Event()
        self._thread = ThreadPoolExecutor(1, "prober")
        self._asking: Future[None] | None = None
        self.answered: dict[str, float] = {}

    def __enter__(self) -> "Prober":
        self._asking = self._thread.submit(self._ask_for_ever)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.shutdown()
        self._client.close()

    def expect(self, change: Change) -> None:
        """Ask for it from now on."""
        self._expected[change.product_id] = change

    def has_all(self) -> bool:
        """Whether everything expected was answered. Raises what ended the asking, if something did."""
        if self._asking and self._asking.done():
            self._asking.result()
        return not self._expected

    def _ask_for_ever(self) -> None:
        while not self._stop.wait(PAUSE_SECONDS):
            waiting = list(self._expected.values())
            for first in range(0, len(waiting), _MOST_ROWS):
                self._ask(waiting[first : first + _MOST_ROWS])

    def _ask(self, changes: Sequence[Change]) -> None:
        body = {
            "query": changes[0].product["title"],
            "limit": len(changes),
            "filters": {"product_id": [change.product_id for change in changes]},
        }
        answer = self._client.post("/search", json=body)
        if answer.is_server_error:
            return  # overloaded: no answer
        hits = {hit["id"]: hit for hit in answer.raise_for_status().json()["hits"]}
        now = time.time()
        for change in changes:
            name = change.product_id
            if change.is_told_by(hits.get(name)) and (not change.is_removal or name in self._seen):
                self.answered[name] = now
                del self._expected[name]
        self._seen |= hits.keys()
