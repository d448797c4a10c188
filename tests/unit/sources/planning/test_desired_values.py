"""What is written to an attribute, given its value."""

import pytest

from headwater.sources.planning.desired_values import AtLeast, DesiredValue, Exactly, Includes


@pytest.mark.parametrize(
    ("desired_value", "found", "written"),
    [
        (Exactly("30"), "20", "30"),
        (Exactly(""), "key", ""),
        (AtLeast(65_536, 262_144), "1048576", "1048576"),
        (AtLeast(65_536, 262_144), "65536", "65536"),
        (AtLeast(65_536, 262_144), "65535", "262144"),
        (AtLeast(65_536, 262_144), "", "262144"),
        (Includes("b"), "", "b"),
        (Includes("b"), "a, c", "a, b, c"),
        (Includes("b"), "b, a", "b, a"),
        (Includes("b"), "ab", "ab, b"),
    ],
)
def test_sufficient_values_are_kept(desired_value: DesiredValue, found: str, written: str) -> None:
    assert desired_value.settle(found) == written
