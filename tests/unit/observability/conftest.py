"""Logging is one for the whole process."""

import logging
from collections.abc import Iterator

import pytest
import structlog


@pytest.fixture
def logging_put_back() -> Iterator[None]:
    """Handlers, level and structlog's settings as before the test."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    config = structlog.get_config()
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.configure(**config)
