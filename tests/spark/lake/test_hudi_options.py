"""The list of Hudi's options that ships with the package is what the bundle on the class path says."""

import pytest

from headwater.config.hudi.known_options import DATA_FILE
from scripts.write_hudi_options import render_options


@pytest.mark.slow
def test_shipped_list_equals_the_bundle(spark):
    assert DATA_FILE.read_text(encoding="utf-8") == render_options(spark), (
        "run `python -m scripts.write_hudi_options`"
    )
