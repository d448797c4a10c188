"""The demo's finale: a visitor asks, a file is overwritten and removed, and the answers follow."""

import http.client
import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from headwater.app.search.live import LiveSearch
from headwater.config.settings import Settings
from headwater.demo.clouds.cloud import Cloud
from headwater.demo.shop_data import Row, list_shelf, to_json_lines
from headwater.errors import HeadwaterError, IndexNotFoundError
from headwater.serve.launch import bind, build_lake_api, open_lake_search, serve_in_background

QUERY = "something to grind coffee beans by hand"
ASKED_FOR = "P-103"
PRICE_THEN = 29.5
SHELF_FOLDER = "shelf/"
PATIENCE_SECONDS = 90.0
_PAUSE_SECONDS = 0.1
_ASKED_AGAIN = 5

Product = Mapping[str, object]


@dataclass(slots=True)
class FinaleReport:
    """Questions and answers; `problems` is empty when every answer was right in time. Seconds count from just
    before the upload or removal to the first right answer."""

    first_answer: float | None = None
    overwritten: float | None = None
    removed: float | None = None
    message: str = ""
    problems: list[str] = field(default_factory=list)

    def write_lines(self) -> Sequence[str]:
        """Return the report's lines."""
        steps = (
            (self.first_answer, "the shelf's files were uploaded; the first answer came after"),
            (
                self.overwritten,
                f"{ASKED_FOR}'s file got a lower price; the answer had it after",
            ),
            (self.removed, f"{ASKED_FOR}'s file was removed; recommendations stopped after"),
        )
        return [
            "Answers to a visitor, by POST /recommend while the pipeline ran",
            f'  "{QUERY}"',
            *([f"           {self.message}"] if self.message else []),
            *(f"  {text} {seconds:.1f} s" for seconds, text in steps if seconds is not None),
        ]


class Finale:
    """Runs once, during a run; `enter` reports the stage, `stop` ends it early."""

    def __init__(
        self,
        cloud: Cloud,
        settings: Settings,
        environ: Mapping[str, str],
        enter: Callable[[str], None],
        stop: threading.Event,
    ) -> None:
        self._cloud = cloud
        self._settings = settings
        self._environ = environ
        self._enter = enter
        self._stop = stop
        self._report = FinaleReport()

    def play(self) -> FinaleReport:
        """Upload, ask, overwrite, ask, remove, ask. Failures are in the report."""
        self._enter("the shelf's files are uploaded, and a visitor asks for a product")
        began = time.monotonic()
        for product in list_shelf():
            self._put(product)
        try:
            self._ask_and_change(began)
        except (HeadwaterError, OSError, http.client.HTTPException) as error:
            self._report.problems.append(f"search: {error}")
        return self._report

    def _ask_and_change(self, began: float) -> None:
        report = self._report
        search = self._wait_for_index(began)
        if search is None:
            return
        api = build_lake_api(self._settings, self._environ, search)
        with serve_in_background(api, bind("127.0.0.1", 0)) as port:
            report.first_answer = self._wait(port, began, lambda found: found is not None, "was not found")
            self._enter("the product's file is overwritten, then removed; the answers change")
            began = time.monotonic()
            wanted = next(row for row in list_shelf() if row["product_id"] == ASKED_FOR)
            self._put(wanted | {"price": PRICE_THEN})
            report.overwritten = self._wait(
                port, began, lambda found: _price(found) == PRICE_THEN, "kept its old price"
            )
            began = time.monotonic()
            self._cloud.remove(_name_file(wanted))
            report.removed = self._wait(port, began, lambda found: found is None, "was still recommended")
            again = [self._ask(port) for _ in range(_ASKED_AGAIN)]
            if any(found is not None for found, _ in again) and report.removed is not None:
                report.problems.append(f"search: {ASKED_FOR} was recommended after its removal")

    def _wait_for_index(self, began: float) -> LiveSearch | None:
        while not self._is_finished(began):
            try:
                return open_lake_search(self._settings, self._environ, syncs=True)
            except IndexNotFoundError:
                self._stop.wait(_PAUSE_SECONDS)
        self._report.problems.append(f"search: there was no index after {PATIENCE_SECONDS:.0f} s")
        return None

    def _wait(
        self, port: int, began: float, is_right: Callable[[Product | None], bool], wrong: str
    ) -> float | None:
        while not self._is_finished(began):
            found, message = self._ask(port)
            if is_right(found):
                self._report.message = self._report.message or message.partition("\n")[0]
                return time.monotonic() - began
            self._stop.wait(_PAUSE_SECONDS)
        if not self._stop.is_set():
            self._report.problems.append(f"search: {ASKED_FOR} {wrong} after {PATIENCE_SECONDS:.0f} s")
        return None

    def _is_finished(self, began: float) -> bool:
        return self._stop.is_set() or time.monotonic() - began > PATIENCE_SECONDS

    def _ask(self, port: int) -> tuple[Product | None, str]:
        """Return the product, if it is among those recommended, and the answer."""
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)
        try:
            body = json.dumps({"query": QUERY, "limit": 3})
            connection.request("POST", "/recommend", body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            answer_body = json.loads(answer.read())
            if answer.status != http.HTTPStatus.OK:
                raise OSError(f"POST /recommend answered {answer.status}: {answer_body}")
        finally:
            connection.close()
        return next((p for p in answer_body["products"] if p["id"] == ASKED_FOR), None), str(
            answer_body["message"]
        )

    def _put(self, product: Row) -> None:
        self._cloud.put(_name_file(product), to_json_lines([product]))


def _name_file(product: Row) -> str:
    return f"{SHELF_FOLDER}{product['product_id']}.json"


def _price(found: Product | None) -> object:
    fields = found.get("fields") if found else None
    return fields.get("price") if isinstance(fields, Mapping) else None
