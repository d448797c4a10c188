"""Paths of a source."""

import os
from pathlib import Path

import pytest
from pydantic import ValidationError

from headwater.config.source import LocalSourceConfig, S3SourceConfig

NOT_UTF8 = Path(os.fsdecode(b"/data/land\xff"))


@pytest.mark.parametrize("key", ["path", "moved_from"])
def test_a_path_that_is_not_utf8_is_refused(key: str) -> None:
    with pytest.raises(ValidationError, match="the path is not UTF-8; rename the folder"):
        LocalSourceConfig.model_validate({"type": "local", "path": "/data/landing", key: NOT_UTF8})


def test_a_bucket_is_known_by_its_former_name() -> None:
    source = S3SourceConfig(type="s3", bucket="new", moved_from="old")
    assert source.known_location == "old"
    assert S3SourceConfig(type="s3", bucket="new").known_location == "new"
