"""What the Containerfile promises, without a container engine: another user, and only /tmp to write to.

A chroot in namespaces of its own: the machine's /usr, this clone and its environment, all of them read-only.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fixtures.deploy import DEPLOY, ROOT
from tests.fixtures.free_port import find_free_port

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

CONTAINERFILE = (DEPLOY / "container/Containerfile").read_text("utf-8")
((USER_ID, GROUP_ID),) = re.findall(r"^USER (\d+):(\d+)", CONTAINERFILE, re.MULTILINE)
CONFIG = """
source: {type: local, path: /tmp/source, settle_seconds: 0}
lake: /tmp/lake
tables:
  orders: {path: "*.json", record_key: id}
  clicks: {path: "*.json", mode: append, table_type: merge_on_read}
"""
# Mounts come first, then the root becomes read-only, and only then headwater starts without any privilege.
SCRIPT = r"""
set -eu
mount --make-rprivate /
mount --bind "$NEW_ROOT" "$NEW_ROOT"
cd "$NEW_ROOT"
mount -t tmpfs -o mode=1777 tmpfs tmp
mkdir -p proc dev etc/headwater
mount -t proc proc proc
mount --rbind /dev dev
for path in $READABLE; do
    mkdir -p ".$(dirname "$path")"
    if [ -L "$path" ]; then
        [ -e ".$path" ] || ln -s "$(readlink "$path")" ".$path"
        continue
    fi
    mkdir -p ".$path"
    mount --bind "$path" ".$path"
    mount -o remount,bind,ro ".$path"
done
cp "$CONFIG" etc/headwater/headwater.yaml
echo "headwater:x:$USER_ID:$GROUP_ID::/tmp:/usr/sbin/nologin" > etc/passwd
echo "headwater:x:$GROUP_ID:" > etc/group
# As container runtimes do: Spark resolves the name of the machine.
echo "127.0.0.1 localhost $(hostname)" > etc/hosts
ln -s /usr/share/zoneinfo/UTC etc/localtime
mkdir -p tmp/source
printf '{"id": 1}\n{"id": 2}\n' > tmp/source/a.json
chown -R "$USER_ID:$GROUP_ID" tmp/source
mount -o remount,bind,ro "$NEW_ROOT"
exec chroot . setpriv --reuid "$USER_ID" --regid "$GROUP_ID" --clear-groups --no-new-privs \
    --bounding-set=-all --inh-caps=-all -- /bin/sh -c "$COMMAND"
"""
COMMAND = r"""
set -eu
cd /tmp
! touch /etc/headwater/x /usr/x /x 2>/dev/null
"$HEADWATER" run --once || { tail -n 40 /tmp/state/headwater/logs/*/spark.log; exit 1; }
"$HEADWATER" sql --json 'select count(*) as n from orders'
"$HEADWATER" sql --json 'select count(*) as n from clicks'
ls -A /tmp | sed 's/^/BELOW_TMP /'
"""


def list_readable():
    """Folders that headwater reads: of the system, Java, Python, this clone and its environment."""
    environment = Path(sys.prefix)
    system = ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc/alternatives", "/etc/ssl"]
    java = [str(path) for path in Path("/etc").glob("java-*-openjdk")]
    own = [sys.base_prefix, environment, ROOT, environment.resolve(), (ROOT / "src").resolve()]
    packages = environment / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
    editable = [line for path in packages.glob("_*headwater*.pth") for line in path.read_text().split()]
    paths = [*system, *java, *map(str, own), *editable]
    return [path for path in dict.fromkeys(paths) if path.startswith("/") and os.path.lexists(path)]


def explain_missing():
    """Why this machine cannot isolate a process, or nothing."""
    if os.geteuid() != 0:
        return "needs root to mount"
    for program in ("unshare", "setpriv", "chroot"):
        if shutil.which(program) is None:
            return f"{program} is not installed"
    tried = subprocess.run(
        ["unshare", "--mount", "--pid", "--fork", "mount", "--make-rprivate", "/"],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    return f"namespaces are not allowed: {tried.stderr.strip()}" if tried.returncode else ""


def test_run_needs_no_root_and_writes_to_tmp_only(tmp_path):
    if reason := explain_missing():
        pytest.skip(reason)
    root = tmp_path / "root"
    root.mkdir(mode=0o755)
    (tmp_path / "headwater.yaml").write_text(CONFIG)
    (root / "tmp").mkdir()
    environ = {
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        "PYTHONPATH": f"{ROOT / 'src'}",
        "HOME": "/tmp",
        "XDG_STATE_HOME": "/tmp/state",
        "HEADWATER_CONFIG": "/etc/headwater/headwater.yaml",
        "HEADWATER__OBSERVABILITY__LISTEN": f"127.0.0.1:{find_free_port()}",
        "HEADWATER": f"{sys.prefix}/bin/headwater",
        "NEW_ROOT": str(root),
        "CONFIG": str(tmp_path / "headwater.yaml"),
        "USER_ID": USER_ID,
        "GROUP_ID": GROUP_ID,
        "READABLE": " ".join(list_readable()),
        "COMMAND": COMMAND,
    }
    done = subprocess.run(
        ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", SCRIPT],
        env=environ,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert done.stdout.count('"n": 2') + done.stdout.count('"n":2') == 2, done.stdout
    written = {line.split()[1] for line in done.stdout.splitlines() if line.startswith("BELOW_TMP")}
    assert {"lake", "source", "state"} <= written
