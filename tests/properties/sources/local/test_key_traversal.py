"""Whatever the key, a read returns bytes of a file inside the folder or raises an ObjectError."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater.errors import ObjectError
from headwater.sources.local.object_store import LocalObjectStore, resolve_key
from headwater.sources.object_store import ObjectRef

PARTS = st.sampled_from(
    ["..", ".", "", "a", "b", "in", "out", "up", "secret", "~", "*", "\0", "..\\", "%2e%2e"]
)
KEYS = st.lists(PARTS, max_size=8).map("/".join) | st.text(st.characters(exclude_categories=["Cs"]))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret").write_bytes(b"secret")
    (outside / "a").write_bytes(b"secret")
    found = outside / "in"
    (found / "a").mkdir(parents=True)
    (found / "a" / "b").write_bytes(b"inside")
    (found / "out").symlink_to(outside)
    (found / "up").symlink_to("..")
    return found


@given(KEYS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_key_never_escapes_the_folder(folder: Path, key: str) -> None:
    ref = ObjectRef("local", str(folder), key)
    try:
        assert resolve_key(ref).is_relative_to(folder.resolve())
        assert LocalObjectStore().read(ref).data == b"inside"
    except ObjectError:
        pass
