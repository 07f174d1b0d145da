"""What commands write: whole or not at all, where it was asked for, and as the umask says."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from claimwise.cli.main import run
from claimwise.command.options import write_output
from claimwise.config import read_config
from claimwise.disk.output import replace_file
from claimwise.errors import ClaimwiseError
from cli.conftest import Say


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize(
    ("mask", "mode", "kind"),
    [(0o077, 0o600, "html"), (0o022, 0o644, "json"), (0o002, 0o664, "json")],
)
def test_report_has_the_permissions_of_the_umask(
    written_demo: Path, tmp_path: Path, mask: int, mode: int, kind: str
) -> None:
    place, written = tmp_path / "store.db", tmp_path / "report"
    shutil.copy(written_demo / "claimwise.db", place)
    with umask(mask):
        assert run(["report", "--store", str(place), "--format", kind, "-o", str(written)]) == 0
    assert mode_of(written) == mode


def test_file_that_is_replaced_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old", encoding="utf-8")
    path.chmod(0o600)
    with umask(0o022):
        write_output("new", path)
    assert (path.read_text(encoding="utf-8"), mode_of(path)) == ("new\n", 0o600)


def test_link_goes_on_pointing_where_it_did(tmp_path: Path) -> None:
    (tmp_path / "reports").mkdir()
    link = tmp_path / "latest.html"
    link.symlink_to("reports/1.html")
    for text in ("one", "two"):
        write_output(text, link)
        assert link.is_symlink()
        assert (tmp_path / "reports" / "1.html").read_text(encoding="utf-8") == f"{text}\n"


def test_device_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    link = tmp_path / "null"  # not the real one: this test must be able to fail
    os.mkfifo(link)
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(link.read_bytes()))
    reader.start()
    write_output("text", link)
    reader.join()
    assert found == [b"text\n"]
    assert link.is_fifo()
    assert [path.name for path in tmp_path.iterdir()] == ["null"]


_KILLED = """
import os, signal, sys
from pathlib import Path
from claimwise.disk import output
output.os.fsync = lambda handle: os.kill(os.getpid(), signal.SIGKILL)
output.replace_file(Path(sys.argv[1]), b"new")
"""


def test_next_file_removes_what_a_killed_process_left(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_bytes(b"old")
    done = subprocess.run([sys.executable, "-c", _KILLED, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert path.read_bytes() == b"old"
    [left] = [other for other in tmp_path.iterdir() if other != path]
    assert left.name.startswith(".claimwise-part-")
    replace_file(tmp_path / "another.html", b"new")
    assert {other.name for other in tmp_path.iterdir()} == {"report.html", "another.html"}


def test_name_of_any_length_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("a" * 255)
    replace_file(path, b"x")
    assert path.read_bytes() == b"x"


def test_several_threads_write_one_file(tmp_path: Path) -> None:
    """None takes another one's work for a leftover."""
    path = tmp_path / "report.html"
    failures: list[OSError] = []

    def write(number: int) -> None:
        try:
            for _ in range(40):
                replace_file(path, b"%d" % number * 5000)
        except OSError as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(set(path.read_bytes())) == 1
    assert [other.name for other in tmp_path.iterdir()] == ["report.html"]


def test_file_that_can_not_be_written_is_told_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(ClaimwiseError) as caught:
        write_output("text", tmp_path / "no" / "report.html")
    assert str(caught.value) == (
        f"{tmp_path / 'no' / 'report.html'}: No such file or directory; nothing was written"
    )


# Settings.

_LIMITED = """
import resource, sys
from claimwise.cli.main import run
sys.dont_write_bytecode = True  # it would be cut short, and everybody else read it
resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
sys.exit(run(["init", sys.argv[1]]))
"""


def test_settings_that_can_not_be_written_leave_nothing(tmp_path: Path) -> None:
    """A limit on the size of files, as a full disk would set one; this needs no root."""
    folder = tmp_path / "project"
    done = subprocess.run(
        [sys.executable, "-c", _LIMITED, str(folder)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    settings = folder / "claimwise.toml"
    assert done.stderr == f"error: {settings}: File too large; nothing was written\n"
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("name", ['a"b.db', "a\\b.db", "a\nb.db", "a\tb.db", "é🍵.db", "a\x7fb.db"])
def test_settings_name_a_store_of_any_name(name: str, tmp_path: Path, say_here: Say) -> None:
    assert say_here("init", "project", "--store", name)[0] == 0
    assert read_config(Path("project/claimwise.toml")).store.path == str(tmp_path / name)
    assert (tmp_path / name).is_file()


# Permissions of the store.


def test_doctor_tells_of_a_store_that_everybody_can_read(tmp_path: Path, say_here: Say) -> None:
    assert say_here("init")[0] == 0
    assert "advice" not in say_here("doctor")[1]
    (tmp_path / "claimwise.db").chmod(0o644)
    code, out, _ = say_here("doctor")
    assert code == 0
    assert (
        "advice claimwise.db can be read by every user of this machine: "
        "chmod o-rwx claimwise.db\n" in out
    )
