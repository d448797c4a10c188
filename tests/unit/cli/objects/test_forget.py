import pytest
from typer.testing import CliRunner

from headwater.cli.main import app


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--yes", "--release"], "--yes and --release exclude each other"),
        (["--list", "--check", "report.json"], "--list and --check exclude each other"),
    ],
)
def test_options_that_exclude_each_other_are_refused_before_anything_is_read(options, message):
    done = CliRunner().invoke(app, ["forget", "orders", "--key", "a", *options])
    assert done.exit_code == 2
    assert message in done.stderr
