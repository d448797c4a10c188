"""Breaks one line of the product at a time, and checks that the tests named for it fail.

`python scripts/mutants.py [--jobs N] [WORD ...]` prints one line a mutation, and exits 1 when one lives.
The mutations are in `mutations.yaml`: each has a file, a text that occurs exactly once in it, its
replacement, and the tests that must fail. The tree is copied first; nothing in it is changed.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from queue import SimpleQueue

from ruamel.yaml import YAML

ROOT = Path(__file__).parents[1]
MUTATIONS = Path(__file__).with_name("mutations.yaml")
TIMEOUT_SECONDS = 180.0
_FAILED_TESTS = 1
"""pytest's exit code when tests ran and failed. With any other, nothing was tried."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """`original` occurs exactly once in `file`; `tests` are arguments of pytest."""

    name: str
    file: str
    original: str
    replacement: str
    tests: tuple[str, ...]

    def apply(self, source: str) -> str:
        """The mutated source. Raises `ValueError` when the original does not occur exactly once."""
        found = source.count(self.original)
        if found != 1:
            raise ValueError(f"{self.name}: {self.original!r} occurs {found} times in {self.file}, not once")
        return source.replace(self.original, self.replacement)


@dataclass(frozen=True, slots=True)
class Result:
    """`verdict` is killed, survived, or why the tests said nothing."""

    mutation: Mutation
    verdict: str
    seconds: float
    output: str


def read_mutations(path: Path = MUTATIONS) -> list[Mutation]:
    """All mutations of a file. Raises `TypeError` for one that lacks a key or has another one."""
    entries = YAML(typ="safe").load(path.read_text("utf-8"))
    return [
        Mutation(name=name, **{**entry, "tests": tuple(entry["tests"])}) for name, entry in entries.items()
    ]


def list_files(root: Path) -> Iterator[str]:
    """The files of the tree that git knows or would take."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=root, capture_output=True, check=True, text=True)
    yield from (name for name in listed.stdout.split("\0") if name and (root / name).is_file())


def copy_tree(root: Path, target: Path) -> None:
    """Copy what the tests need."""
    for name in list_files(root):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(root / name, target / name)


class Tree:
    """A copy of the tree in which one mutation at a time is tried."""

    def __init__(self, path: Path) -> None:
        self._path = path
        # Python takes compiled code as valid when second and size of the source are the same.
        self._times = count(int(time.time()) + 10, 10)

    def try_mutation(self, mutation: Mutation) -> Result:
        """Apply it, run its tests, take it back."""
        file = self._path / mutation.file
        source = file.read_text("utf-8")
        self._write(file, mutation.apply(source))
        try:
            return self._run(mutation)
        finally:
            self._write(file, source)

    def run_tests(
        self, tests: Sequence[str], timeout: float | None = None
    ) -> subprocess.CompletedProcess[str]:
        """pytest in the copy, with its sources. Raises `subprocess.TimeoutExpired`."""
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-x",
            "-q",
            "--no-header",
            "-p",
            "no:cacheprovider",
            *tests,
        ]
        environment = {**os.environ, "PYTHONPATH": str(self._path / "src")}
        return subprocess.run(
            command,
            cwd=self._path,
            env=environment,
            capture_output=True,
            check=False,
            text=True,
            timeout=timeout,
        )

    def _run(self, mutation: Mutation) -> Result:
        began = time.monotonic()
        try:
            done = self.run_tests(mutation.tests, TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            # The tests passed before in less: the mutation makes them hang.
            return Result(mutation, "killed", time.monotonic() - began, "timeout")
        verdicts = {0: "survived", _FAILED_TESTS: "killed"}
        verdict = verdicts.get(done.returncode, f"not tried: pytest ended with {done.returncode}")
        return Result(mutation, verdict, time.monotonic() - began, done.stdout + done.stderr)

    def _write(self, file: Path, source: str) -> None:
        file.write_text(source, "utf-8")
        moment = next(self._times)
        os.utime(file, (moment, moment))


def check_unmutated(tree: Tree, mutations: Sequence[Mutation]) -> str:
    """What fails without any mutation; empty when nothing does."""
    chosen = {mutation.tests for mutation in mutations}
    # Whole files in one run; a selection among tests holds for a run of its own.
    selections = {tests for tests in chosen if "-k" in tests}
    files = {file for tests in chosen - selections for file in tests}
    for tests in [tuple(sorted(files)), *sorted(selections)]:
        done = tree.run_tests(tests) if tests else None
        if done is not None and done.returncode != 0:
            return f"{' '.join(tests)}: fails without a mutation\n{done.stdout}{done.stderr}"
    return ""


def run_all(mutations: Sequence[Mutation], jobs: int, folder: Path) -> Iterator[Result]:
    """Results in the order of the mutations."""
    trees: SimpleQueue[Tree] = SimpleQueue()
    for at in range(jobs):
        copy_tree(ROOT, folder / str(at))
        trees.put(Tree(folder / str(at)))

    def attempt(mutation: Mutation) -> Result:
        tree = trees.get()
        try:
            return tree.try_mutation(mutation)
        finally:
            trees.put(tree)

    first = trees.get()
    broken = check_unmutated(first, mutations)
    trees.put(first)
    if broken:
        raise SystemExit(broken)
    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(attempt, mutations)


def main(arguments: Sequence[str]) -> int:
    """Exit code 1 when a mutation lives or was not tried."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jobs", type=int, default=2, help="mutations tried at the same time")
    parser.add_argument("words", nargs="*", metavar="WORD", help="only mutations whose names contain it")
    options = parser.parse_args(arguments)
    mutations = [
        m for m in read_mutations() if not options.words or any(word in m.name for word in options.words)
    ]
    alive = 0
    with tempfile.TemporaryDirectory(prefix="headwater-mutants-") as folder:
        for result in run_all(mutations, options.jobs, Path(folder)):
            is_killed = result.verdict == "killed"
            alive += not is_killed
            print(f"{result.verdict:10} {result.seconds:5.1f} s  {result.mutation.name}", flush=True)
            if not is_killed and result.verdict != "survived":
                print(result.output)
    print(f"{len(mutations) - alive} of {len(mutations)} mutations killed")
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
