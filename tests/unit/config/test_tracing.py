"""`observability.tracing` in a configuration."""

from pathlib import Path

import pytest

from headwater.config.loader import parse_settings
from headwater.config.observability import TracingConfig
from headwater.errors import ConfigError

TEXT = """\
source: {type: local, path: in}
lake: lake
tables: {t: {path: "*.json"}}
"""


def parse(tracing: str) -> TracingConfig | None:
    text = f"{TEXT}observability: {{{tracing}}}\n"
    return parse_settings(text, Path("headwater.yaml"), {}, installed=lambda _: True).observability.tracing


def test_there_are_no_traces_by_default() -> None:
    assert parse("") is None


def test_an_empty_section_leaves_everything_to_the_environment() -> None:
    assert parse("tracing: {}") == TracingConfig(endpoint=None, sample_ratio=None)


@pytest.mark.parametrize(
    "url",
    [
        "http://collector:4318",
        "http://collector:4318/",
        "http://collector:4318/v1/traces",
        "http://collector:4318/v1/traces/",
    ],
)
def test_the_path_of_traces_may_be_part_of_the_endpoint(url: str) -> None:
    found = parse(f'tracing: {{endpoint: "{url}"}}')
    assert found is not None
    assert found.endpoint == "http://collector:4318"


@pytest.mark.parametrize(
    "url", ["collector:4318", "grpc://collector:4317", "http://", "http://c:0", "http://c?x=1"]
)
def test_an_endpoint_is_a_url(url: str) -> None:
    with pytest.raises(ConfigError, match="not a valid URL; write, for example, http://collector:4318"):
        parse(f'tracing: {{endpoint: "{url}"}}')


def test_credentials_are_not_in_the_endpoint() -> None:
    with pytest.raises(ConfigError) as caught:
        parse('tracing: {endpoint: "https://me:hunter22@collector"}')
    assert "hunter22" not in str(caught.value)


@pytest.mark.parametrize("ratio", ["-0.1", "1.1", "half"])
def test_a_ratio_is_between_0_and_1(ratio: str) -> None:
    with pytest.raises(ConfigError, match="sample_ratio"):
        parse(f"tracing: {{sample_ratio: {ratio}}}")


def test_the_section_needs_its_extra() -> None:
    text = f"{TEXT}observability: {{tracing: {{}}}}\n"
    with pytest.raises(ConfigError, match=r"observability\.tracing") as caught:
        parse_settings(text, Path("headwater.yaml"), {}, installed=lambda extra: extra != "tracing")
    assert "pip install 'headwater[tracing]'" in str(caught.value.hint) + str(caught.value)
