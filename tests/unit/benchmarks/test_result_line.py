import json
import os
import subprocess
import sys

import pytest

from benchmarks.pairs import Pair, choose_median, measure_pairs, measure_turns
from benchmarks.result import BenchmarkResult
from benchmarks.run import BENCHMARKS, ROOT, main, read_question
from benchmarks.sizes import SMALL_VARIABLE


def build_result(value=30.0, floor=20.0, goal=1.5, better="lower", broken=""):
    return BenchmarkResult("some_name", value, floor, "s", goal, better, broken)


def test_the_result_line_is_one_json_object_with_the_documented_keys():
    line = build_result().to_json()
    assert "\n" not in line
    assert json.loads(line) == {
        "name": "some_name",
        "value": 30.0,
        "floor": 20.0,
        "unit": "s",
        "ratio": 1.5,
        "goal": 1.5,
        "better": "lower",
        "ok": True,
    }


@pytest.mark.parametrize(
    ("value", "better", "ok"),
    [(31, "lower", False), (29, "lower", True), (29, "higher", False), (31, "higher", True)],
)
def test_the_goal_is_met_on_its_better_side(value, better, ok):
    assert build_result(value=value, better=better).ok is ok


def test_a_broken_condition_is_not_made_good_by_the_figure():
    assert not build_result(value=1, broken="3 rows are missing").ok


def test_ours_and_the_floor_take_turns_in_going_first():
    order = []
    pairs = measure_pairs(lambda: order.append("ours") or 2.0, lambda: order.append("floor") or 1.0, 2)
    assert order == ["floor", "ours", "ours", "floor"]
    assert pairs == [Pair(2.0, 1.0), Pair(2.0, 1.0)]


def test_the_median_is_a_pair_that_was_measured():
    pairs = [Pair(9, 1), Pair(4, 2), Pair(1, 1)]
    assert choose_median(pairs) == Pair(4, 2)


def test_a_note_is_part_of_the_line():
    result = BenchmarkResult("some_name", 30.0, 20.0, "s", 1.5, "lower", note="of 64 files")
    assert json.loads(result.to_json())["note"] == "of 64 files"


def test_the_order_of_steps_rotates_and_each_is_paired_with_the_floor_of_its_turn():
    order, seconds = [], iter([1.0, 4.0, 9.0, 2.0, 1.0, 2.0])
    steps = {name: lambda name=name: order.append(name) or next(seconds) for name in ("floor", "a", "b")}
    pairs = measure_turns(steps, "floor", 2)
    assert order == ["floor", "a", "b", "a", "b", "floor"]
    assert pairs == {"a": Pair(2.0, 2.0), "b": Pair(1.0, 2.0)}


@pytest.mark.parametrize(("small", "size"), [("1", "3"), ("", "5000")])
def test_small_sizes_hold_in_a_process_that_is_asked_for_them(small, size):
    code = "from benchmarks.sizes import sized; print(sized(5000, 3))"
    environment = {**os.environ, SMALL_VARIABLE: small}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == size


def test_an_unknown_benchmark_is_bad_input_and_the_message_names_those_there_are(capsys):
    assert main(["thruput"]) == 2
    said = capsys.readouterr().err
    assert [name for name in BENCHMARKS if name not in said] == []


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_benchmark_states_the_question_it_answers(name):
    assert read_question(name).endswith("?")
