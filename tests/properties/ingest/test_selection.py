"""The beginnings of a table's globs exclude no key that one of them matches."""

from hypothesis import example, given
from hypothesis import strategies as st

from headwater.config.table import TableConfig
from headwater.ingest.planning.selection import (
    build_selector,
    compile_globs,
    find_beginnings,
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
def test_keys_of_a_table_begin_as_its_globs_do(path: str, key: str) -> None:
    table = TableConfig(path=path, format="json")
    is_own = build_selector(table)(key) is None
    assert is_own == any(matches(pattern, key) for pattern in compile_globs([path]))
    assert not is_own or key.startswith(find_beginnings(table.path))
