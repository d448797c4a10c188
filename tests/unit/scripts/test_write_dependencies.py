import re
import sys
from importlib.metadata import Distribution
from pathlib import Path

import pytest

from scripts import write_dependencies
from scripts.write_dependencies import Package, find_licence, list_packages, render

PAGE = write_dependencies.PAGE.read_text("utf-8")


class Stated(Distribution):
    def __init__(self, metadata: str) -> None:
        self._metadata = metadata

    def read_text(self, filename: str) -> str | None:
        return self._metadata if filename == "METADATA" else None

    def locate_file(self, path) -> Path:
        return Path(path)


@pytest.mark.parametrize(
    ("stated", "licence"),
    [
        ("License-Expression: MIT OR Apache-2.0\nLicense: other", "MIT OR Apache-2.0"),
        ("Classifier: License :: OSI Approved :: MIT License\nLicense: other", "MIT"),
        ("Classifier: License :: OSI Approved\nLicense: Apache License, Version 2.0", "Apache-2.0"),
        (
            "Classifier: License :: OSI Approved :: BSD License\nClassifier: License :: Public Domain",
            "BSD-3-Clause OR Public Domain",
        ),
        ("License: Mozilla Public License 2.0 (MPL 2.0)", "MPL-2.0"),
        ("Name: x", ""),
    ],
)
def test_licences_are_found_where_packages_state_them(stated: str, licence: str) -> None:
    assert find_licence(Stated(f"{stated}\n")) == licence


def test_an_extra_is_shown_by_what_it_adds() -> None:
    small, large = Package("six", "MIT", 10), Package("numpy", "BSD-3-Clause", 57_400_000)
    page = render({"core": {"six": small}, "plot": {"six": small, "numpy": large}})
    assert "| without extras | 1 | less than 1 |" in page
    assert "| `plot` adds | 1 | 57 |" in page
    assert "| numpy | BSD-3-Clause | `plot` |" in page
    assert "| six | MIT | all |" in page


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="other versions of Python need other packages")
def test_the_page_names_every_package_with_its_licence() -> None:
    licences = dict(re.findall(r"^\| ([a-z0-9-]+) \| (.*?) \| (?:all|`)", PAGE, re.MULTILINE))
    found = {
        name: one.licence
        for extra in (write_dependencies.CORE, *write_dependencies.list_extras())
        for name, one in list_packages(extra).items()
    }
    assert {name: licences.get(name) for name in found} == found, "run: python -m scripts.write_dependencies"


def test_no_package_has_a_licence_that_binds_its_users() -> None:
    table = PAGE.partition("## Licences")[2]
    licences = re.findall(r"^\| [a-z0-9-]+ \| (.*?) \|", table, re.MULTILINE)
    assert len(licences) > 100
    assert [one for one in licences if re.search(r"(?<!L)GPL", one)] == []
