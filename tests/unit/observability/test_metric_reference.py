"""The committed page of metrics is what the definitions say."""

from pathlib import Path

from headwater.observability.metric_names import COUNTERS, GAUGES, HISTOGRAMS
from headwater.observability.metric_reference import PAGE_NAME, render_page

REFERENCE = Path(__file__).parents[3] / "docs" / "reference"


def test_the_page_is_up_to_date() -> None:
    how = "run `python -m headwater.observability.metric_reference`"
    assert (REFERENCE / PAGE_NAME).read_text("utf-8") == render_page(), how


def test_every_metric_is_on_it_with_unit_and_meaning() -> None:
    rows = [line.split("|")[1:-1] for line in render_page().splitlines() if line.startswith("| `")]
    assert len(rows) == len(COUNTERS) + len(GAUGES) + len(HISTOGRAMS)
    for name, unit, _labels, meaning in rows:
        assert unit.strip(), name
        assert meaning.strip().endswith("."), name
