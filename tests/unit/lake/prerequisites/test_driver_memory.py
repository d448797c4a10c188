"""The heap of the driver: enough for the tasks of all cores, and no more than the machine has."""

from pathlib import Path

import pytest

from headwater.lake.prerequisites.driver_memory import (
    choose_driver_memory,
    count_local_cores,
    measure_memory,
)

GIB = 1024**3


@pytest.mark.parametrize(
    ("cores", "memory", "expected"),
    [
        (0, 64 * GIB, "2048m"),
        (2, 16 * GIB, "2048m"),
        (8, 16 * GIB, "4096m"),
        (16, 64 * GIB, "8192m"),
        (16, 8 * GIB, "4096m"),
        (4, 3 * GIB, "1536m"),
        (4, GIB, "1024m"),
    ],
)
def test_heap_follows_the_cores_up_to_half_of_the_memory(cores: int, memory: int, expected: str) -> None:
    assert choose_driver_memory(cores, memory) == expected


@pytest.mark.parametrize(
    ("master", "expected"),
    [
        ("local", 1),
        ("local[3]", 3),
        ("local[4, 2]", 4),
        ("spark://host:7077", 0),
        ("local-cluster[2,1,1024]", 0),
    ],
)
def test_tasks_of_a_local_master_run_in_the_driver(master: str, expected: int) -> None:
    assert count_local_cores(master) == expected


def test_a_master_with_all_cores_has_those_of_the_machine() -> None:
    assert count_local_cores("local[*]") == count_local_cores("local[*,3]") >= 1


def test_the_limit_of_a_container_counts(tmp_path: Path) -> None:
    limited, unlimited = tmp_path / "limited", tmp_path / "unlimited"
    limited.write_text("1073741824\n")
    unlimited.write_text("max\n")
    whole = measure_memory(())
    assert whole > GIB
    assert measure_memory((unlimited, tmp_path / "absent")) == whole
    assert measure_memory((unlimited, limited)) == GIB
