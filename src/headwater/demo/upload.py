"""The other side of the demo: writes to the bucket while the pipeline runs."""

import threading
import time
from collections.abc import Callable

from headwater.demo.clouds.cloud import Cloud
from headwater.demo.scenario import Announce, Put, Resend, Scenario, SendText, Step
from headwater.errors import SourceError


class Uploader(threading.Thread):
    """Uploads the openers, waits for `open_shop`, then runs the steps at their times; or until `stop`.

    One thread, so that uploads keep the planned order. `failure` is the error that ended it.
    """

    def __init__(
        self,
        cloud: Cloud,
        scenario: Scenario,
        *,
        stop: threading.Event,
        on_step: Callable[[Step], None],
    ) -> None:
        super().__init__(name="uploads", daemon=True)
        self._cloud = cloud
        self._scenario = scenario
        self._stop_asked = stop
        self._on_step = on_step
        self._opened = threading.Event()
        self.failure: SourceError | None = None

    def open_shop(self) -> None:
        """Start the steps; also wakes a thread that is to stop."""
        self._opened.set()

    def run(self) -> None:
        """Run the thread; called by `start`."""
        try:
            for put in self._scenario.openers:
                self._take(put)
            self._opened.wait()
            started = time.monotonic()
            for step in self._scenario.steps:
                if self._stop_asked.wait(max(0.0, started + step.at - time.monotonic())):
                    return
                self._take(step)
        except SourceError as error:
            self.failure = error

    def _take(self, step: Step) -> None:
        self._act(step)
        self._on_step(step)

    def _act(self, step: Step) -> None:
        if isinstance(step, Put):
            self._cloud.put(step.key, step.body)
        elif isinstance(step, Resend):
            self._cloud.send_again(step.key)
        elif isinstance(step, Announce):
            self._cloud.announce(step.key)
        elif isinstance(step, SendText):
            self._cloud.send(step.body)


def read_uploads(cloud: Cloud, scenario: Scenario) -> list[tuple[str, bytes]]:
    """Return the bucket's objects as (key, bytes), in upload order."""
    return [(put.key, cloud.read(put.key)) for put in scenario.puts]
