"""Variables for a library, while other threads read the environment of the process."""

import ctypes
import os
import subprocess
import sys

import pytest

from headwater.config.environment import overlaid_environment

READ = ctypes.CDLL(None).getenv
READ.restype = ctypes.c_char_p


def test_python_sees_the_variables_and_c_does_not() -> None:
    before = os.environ
    path = os.environ["PATH"]
    with overlaid_environment({"HEADWATER_TEST_NEW": "1", "PATH": "/nowhere"}):
        os.environ["HEADWATER_TEST_LATER"] = "2"
        assert (os.environ["HEADWATER_TEST_NEW"], os.getenv("PATH")) == ("1", "/nowhere")
        assert READ(b"HEADWATER_TEST_NEW") is READ(b"HEADWATER_TEST_LATER") is None
        assert READ(b"PATH") == path.encode()
        # As PySpark starts the JVM.
        command = [sys.executable, "-c", "import os; print(os.environ['HEADWATER_TEST_NEW'])"]
        found = subprocess.run(command, env=dict(os.environ), capture_output=True, text=True, check=True)
        assert found.stdout == "1\n"
    assert os.environ is before
    assert "HEADWATER_TEST_LATER" not in os.environ


def test_it_ends_with_an_error() -> None:
    before = os.environ
    with pytest.raises(ValueError, match="x"), overlaid_environment({"HEADWATER_TEST_NEW": "1"}):
        raise ValueError("x")
    assert os.environ is before
