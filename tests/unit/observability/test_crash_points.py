import signal
import subprocess
import sys

import pytest

from headwater.observability.crash_points import arm_crash_point, crash_point

SCRIPT = """
from headwater.observability.crash_points import arm_crash_point, crash_point
arm_crash_point({spec!r})
for hit in range(5):
    print(hit, flush=True)
    crash_point("after_receive")
    crash_point("mid_delete")
"""


def run_script(spec: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", SCRIPT.format(spec=spec)],
        start_new_session=True,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_process_dies_at_the_named_hit_and_says_so() -> None:
    done = run_script("mid_delete:3")
    assert done.returncode == -signal.SIGKILL
    assert done.stdout.split() == ["0", "1", "2"]
    assert "crash point mid_delete" in done.stderr


def test_nothing_happens_when_nothing_is_armed() -> None:
    arm_crash_point("")
    crash_point("after_receive")


@pytest.mark.parametrize("spec", ["somewhere", "mid_delete:0", "mid_delete:soon"])
def test_invalid_spec_error_names_allowed_values(spec: str) -> None:
    with pytest.raises(ValueError, match=spec):
        arm_crash_point(spec)
