"""The beginning of a glob excludes no key that the glob matches."""

from hypothesis import example, given
from hypothesis import strategies as st

from headwater.config.table import TableConfig
from headwater.ingest.planning.selection import (
    build_selector,
    compile_globs,
    find_literal_beginning,
    matches,
)

keys = st.text("ab./\n_", min_size=1, max_size=8)
pieces = st.sampled_from(
    ["a", "b", ".", "/", "_", "*", "**", "**/", "?", "[ab]", "{a,b/}", "\\*", "!", "|", "("]
)
globs = st.lists(pieces, min_size=1, max_size=6).map("".join)


@given(globs, keys)
@example("a//b", "a/b")
@example("a/./b", "a/_/b")
@example("a/../*", "a/../b")
@example("..", "..\n")
@example("{a,b}/x", "b/x")
@example("\\*a", "*a")
def test_keys_that_match_are_those_of_the_globs_alone(path: str, key: str) -> None:
    is_matched = any(matches(pattern, key) for pattern in compile_globs([path]))
    selector = build_selector(TableConfig(path=path, format="json"))
    assert (selector(key) is None) == is_matched
    if is_matched:
        assert key.startswith(find_literal_beginning(path))
