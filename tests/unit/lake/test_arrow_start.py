"""pyarrow without pandas, and with it again: each case needs a process in which neither was imported."""

import subprocess
import sys

_BEGINNING = """
import sys
import pyarrow as pa
from headwater.lake.sql.arrow_start import find_pandas, start_without_pandas
start_without_pandas()
pa.array([1, 2])
assert "pandas" not in sys.modules
"""


def run(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_pandas_can_be_imported_and_is_handed_over_as_ever_once_found():
    handed = "import pandas as pd; print(pa.array(pd.Series([1.0, float('nan')])).null_count)"
    assert run(f"{_BEGINNING}\nfind_pandas()\n{handed}") == "1"


def test_arrow_conversion_imports_pandas():
    assert run(f"{_BEGINNING}\nprint(pa.table({{'a': [1]}}).to_pandas().a.sum())") == "1"


def test_where_pandas_is_imported_nothing_changes():
    handed = "print(pa.array(pandas.Series([1.0, float('nan')])).null_count)"
    beginning = _BEGINNING.replace("import pyarrow as pa", "import pandas, pyarrow as pa")
    beginning = beginning.replace('assert "pandas" not in sys.modules', "")
    assert run(f"{beginning}\n{handed}") == "1"
