"""The browser of the tests of the page."""

from collections.abc import Iterator

import pytest

from tests.fixtures.search.browser import Browser, run_browser


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with run_browser(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture
def without_complaints(browser: Browser) -> Iterator[None]:
    """No script failed and nothing was stopped by the page's policy."""
    browser.problems.clear()
    yield
    browser.run("1")
    assert browser.problems == []
