from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

import claimwise.store.load as loading
from claimwise.cli.main import run
from claimwise.config import read_config
from claimwise.errors import StoreError, StoreFullError
from claimwise.store import Store, open_store
from claimwise.store.postgres import PostgresEngine
from claimwise.store.sqlite import SQLiteEngine
from claimwise.transfer import export_store
from claimwise.types.rows import Item, Placed, Source
from store.builders import base_rows, dump, load, make, put

DICE = random.Random(5)
BIG = [make(Source, source_id=f"b{n}", source_text=DICE.randbytes(60_000).hex()) for n in range(60)]
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def disk() -> Iterator[Path]:
    """A disk of its own of a few megabytes."""
    folder = Path(tempfile.mkdtemp(prefix="disk-"))
    folder.chmod(0o755)
    command = ["mount", "-t", "tmpfs", "-o", "size=4m,mode=0777", "tmpfs", str(folder)]
    can_mount = os.getuid() == 0 and shutil.which("mount") is not None
    if not can_mount or subprocess.run(command, capture_output=True, check=False).returncode:
        folder.rmdir()
        pytest.skip("mounting needs root; the tests with a limit on pages run everywhere")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)
    folder.rmdir()


def remount(disk: Path, how: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{how}", str(disk)], check=True)


def check_refusal(error: StoreError, place: str, words: str) -> None:
    assert str(error).startswith(f"{place}: ")
    assert words in str(error)
    assert len(str(error).splitlines()) == 1


def new_store(path: Path) -> None:
    with open_store(path, create=True) as store:
        load(store, *base_rows())


def limited(path: Path, spare_pages: int) -> Store:
    """Open a store that can grow by some pages only."""
    engine = SQLiteEngine(path, create=False)
    pages = engine.query("pragma page_count")[0][0]
    engine.query(f"pragma max_page_count = {pages + spare_pages}")
    return Store(engine)


# A full disk.


def test_full_disk_leaves_the_store_usable(disk: Path) -> None:
    path = disk / "store.db"
    new_store(path)
    with open_store(path) as store:
        before = dump(store)
        with pytest.raises(StoreFullError) as caught:
            load(store, *BIG)
        check_refusal(caught.value, str(path), "no space left on the disk; nothing was changed")
        assert dump(store) == before
        load(store, make(Item, item_id="q2"))
    with open_store(path) as store:
        assert store.count_rows()["eval_items"] == 2
        assert store.count_rows()["sources"] == 1
        assert store.query("pragma integrity_check(sources)") == [("ok",)]


def test_full_disk_does_not_make_a_store(disk: Path) -> None:
    (disk / "filler").write_bytes(b"x" * (4 * 1024 * 1024 - 8192))
    with pytest.raises(StoreError) as caught:
        open_store(disk / "store.db", create=True)
    check_refusal(caught.value, str(disk / "store.db"), "")
    (disk / "filler").unlink()
    new_store(disk / "store.db")


@pytest.mark.parametrize("spare_pages", [0, 1, 5, 200])
def test_full_database_leaves_the_store_usable(tmp_path: Path, spare_pages: int) -> None:
    path = tmp_path / "store.db"
    new_store(path)
    store = limited(path, spare_pages)
    before = dump(store)
    with pytest.raises(StoreFullError) as caught:
        load(store, *BIG)
    check_refusal(caught.value, str(path), "no space left")
    assert dump(store) == before
    store.query("pragma max_page_count = 1000000")
    load(store, *BIG)
    store.close()


def test_full_disk_is_told_by_the_command(tmp_path: Path, disk: Path, capsys: Capture) -> None:
    new_store(disk / "store.db")
    data = tmp_path / "sources.jsonl"
    with open_store(tmp_path / "big.db", create=True) as store:
        load(store, *BIG)
        export_store(store, tmp_path, "jsonl")
    assert run(["import", str(data), "--store", str(disk / "store.db")]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err == f"error: {disk / 'store.db'}: no space left on the disk; nothing was changed\n"


def test_full_disk_of_the_server_leaves_the_store_usable(disk: Path, postgres_server: str) -> None:
    name = f"small_{uuid4().hex}"
    shutil.chown(disk, "postgres")
    with open_store(f"{postgres_server}?schema={name}", create=True) as admin:
        admin._engine.run_script(f"create tablespace {name} location '{disk}'")
    place = f"{postgres_server}?schema={name}_s&default_tablespace={name}"
    try:
        with open_store(place, create=True) as store:
            load(store, *base_rows())
            before = dump(store)
            with pytest.raises(StoreFullError) as caught:
                load(store, *BIG)
            check_refusal(caught.value, store.place, "no space left; nothing was changed")
            assert dump(store) == before
            load(store, make(Item, item_id="q2"))
            assert store.count_rows()["eval_items"] == 2
    finally:
        with open_store(f"{postgres_server}?schema={name}") as admin:
            admin._engine.run_script(f"drop schema if exists {name}_s cascade")
            admin._engine.run_script(f"drop tablespace {name}")


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
def test_export_to_a_full_disk_leaves_older_files(tmp_path: Path, disk: Path, form: str) -> None:
    folder = disk / form
    new_store(tmp_path / "small.db")
    with open_store(tmp_path / "small.db") as store:
        export_store(store, folder, form)
    with open_store(tmp_path / "big.db", create=True) as store:
        load(store, *BIG)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    filler = disk / "filler"
    filler.write_bytes(b"x" * (shutil.disk_usage(disk).free - 8192))
    # A process of its own: what Python says while it ends must not reach people either.
    code = "from claimwise.cli.main import main; main()"
    options = ["export", str(folder), "--format", form, "--store", str(tmp_path / "big.db")]
    done = subprocess.run(
        [sys.executable, "-c", code, *options], capture_output=True, text=True, check=False
    )
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert done.returncode == 1, done.stderr
    assert done.stderr.startswith(f"error: {folder}: ")
    assert len(done.stderr.splitlines()) == 1, done.stderr


def fill(disk: Path) -> None:
    """Leave no byte on a disk."""
    with suppress(OSError), (disk / "filler").open("ab", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)


def test_full_disk_is_told_by_who_only_reads(disk: Path) -> None:
    path = disk / "store.db"
    new_store(path)
    fill(disk)
    with pytest.raises(StoreFullError) as caught:
        open_store(path)
    words = "no space left on the disk; nothing was changed: even reading needs a few kilobytes"
    check_refusal(caught.value, str(path), words)
    (disk / "filler").unlink()
    with open_store(path) as store:
        assert store.count_rows()["runs"] == 1


_SORT = """
import sys
from claimwise.errors import StoreFullError
from claimwise.store import open_store
with open_store(sys.argv[1]) as store:
    store.query("pragma cache_size = 10")
    try:
        store.query("with recursive t (i) as (select 1 union all select i + 1 from t where i < "
                    "60000) select hex(randomblob(50)) || i as x from t order by x")
    except StoreFullError as error:
        print(error)
"""


def test_full_disk_of_temporary_files_is_told_apart(disk: Path, tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    new_store(path)
    (disk / "filler").write_bytes(b"x" * (3 * 1024 * 1024))
    done = subprocess.run(
        [sys.executable, "-c", _SORT, str(path)],
        env={**os.environ, "SQLITE_TMPDIR": str(disk)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == (
        f"{path}: no space left for temporary files; nothing was changed: free some, or name a "
        "larger folder in the variable SQLITE_TMPDIR\n"
    )


def test_failing_disk_is_told_as_such(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    new_store(path)
    engine = SQLiteEngine(path, create=False)
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode, error.sqlite_errorname = 266, "SQLITE_IOERR_READ"
    check_refusal(engine._translate(error), str(path), "the disk failed (SQLITE_IOERR_READ)")
    engine.close()


@pytest.mark.parametrize("free", [0, 8192])
def test_init_on_a_full_disk_leaves_no_half_settings(
    disk: Path, capsys: Capture, free: int
) -> None:
    fill(disk)
    with (disk / "filler").open("ab") as file:
        file.truncate((disk / "filler").stat().st_size - free)
    assert run(["init", str(disk)]) == 1
    out, err = capsys.readouterr()
    assert len(err.splitlines()) == 1
    settings = disk / "claimwise.toml"
    if free:  # the settings fit, the store doesn't
        read_config(settings)
        assert "store.db" not in out
    else:
        assert err == f"error: {settings}: No space left on device; nothing was written\n"
        assert [path.name for path in disk.iterdir()] == ["filler"]
    (disk / "filler").unlink()
    assert run(["init", str(disk)]) == 0
    assert read_config(settings).store.path == "claimwise.db"


def test_parquet_that_does_not_fit_is_told_in_one_line(
    tmp_path: Path, disk: Path, capsys: Capture
) -> None:
    """The rows fit as JSON, and not once more as Parquet."""
    text = DICE.randbytes(1_000_000).hex()
    with open_store(tmp_path / "big.db", create=True) as store:
        load(store, make(Source, source_text=text))
    filler = disk / "filler"
    filler.write_bytes(b"x" * (shutil.disk_usage(disk).free - 2_500_000))
    place = str(tmp_path / "big.db")
    assert run(["export", str(disk / "out"), "--format", "parquet", "--store", place]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"error: {disk / 'out'}: ")
    assert err.endswith("; nothing was written\n")
    assert len(err.splitlines()) == 1
    assert list((disk / "out").iterdir()) == []


# A disk that can't be written to.


def test_read_only_disk_refuses_an_import(disk: Path) -> None:
    path = disk / "store.db"
    new_store(path)
    with open_store(path) as store:
        before = dump(store)
    remount(disk, "ro")
    with pytest.raises(StoreError) as caught, open_store(path) as store:
        load(store, make(Item, item_id="q2"))
    check_refusal(caught.value, str(path), "")
    remount(disk, "rw")
    with open_store(path) as store:
        assert dump(store) == before
        load(store, make(Item, item_id="q2"))


def test_read_only_disk_can_be_read(disk: Path) -> None:
    path = disk / "store.db"
    new_store(path)
    with open_store(path) as store:
        before = dump(store)
    remount(disk, "ro")
    with open_store(path) as store:
        assert dump(store) == before


def test_read_only_disk_does_not_make_a_store(disk: Path) -> None:
    remount(disk, "ro")
    with pytest.raises(StoreError) as caught:
        open_store(disk / "store.db", create=True)
    check_refusal(caught.value, str(disk / "store.db"), "can't be opened")


def test_read_only_connection_refuses_an_import(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    new_store(path)
    engine = SQLiteEngine(path, create=False)
    engine.query("pragma query_only = on")
    store = Store(engine)
    before = dump(store)
    with pytest.raises(StoreError) as caught:
        load(store, make(Item, item_id="q2"))
    check_refusal(caught.value, str(path), "")
    assert dump(store) == before
    engine.query("pragma query_only = off")
    load(store, make(Item, item_id="q2"))
    store.close()


def test_read_only_server_refuses_an_import(postgres_server: str) -> None:
    place = f"{postgres_server}?schema=s{uuid4().hex}"
    with open_store(place, create=True) as store:
        load(store, *base_rows())
        before = dump(store)
    with open_store(f"{place}&default_transaction_read_only=on") as store:
        assert dump(store) == before
        with pytest.raises(StoreError) as caught:
            load(store, make(Item, item_id="q2"))
        check_refusal(caught.value, store.place, "the store is read-only; nothing was changed")
        assert dump(store) == before


def test_store_in_a_missing_folder_is_told(tmp_path: Path) -> None:
    place = tmp_path / "no" / "such" / "store.db"
    with pytest.raises(StoreError) as caught:
        open_store(place, create=True)
    check_refusal(caught.value, str(place), "does the folder exist")


# A damaged file, and a server that goes away.


def damage(path: Path, change: Callable[[bytearray], None]) -> None:
    data = bytearray(path.read_bytes())
    change(data)
    path.write_bytes(data)


def test_damaged_file_is_told_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    new_store(path)

    def overwrite(data: bytearray) -> None:
        data[4096:] = b"\xaa" * (len(data) - 4096)

    damage(path, overwrite)
    with pytest.raises(StoreError) as caught, open_store(path) as store:
        dump(store)
    check_refusal(caught.value, str(path), "malformed")


def end_connection(store: Store, postgres_server: str) -> None:
    pid = store.query("select pg_backend_pid()")[0][0]
    admin = PostgresEngine(postgres_server, create=False)
    admin.query(f"select pg_terminate_backend({pid}, 5000)")
    admin.close()


def test_server_that_ends_the_connection_is_told_in_one_line(postgres_server: str) -> None:
    place = f"{postgres_server}?schema=s{uuid4().hex}"
    store = open_store(place, create=True)
    load(store, *base_rows())
    end_connection(store, postgres_server)
    with pytest.raises(StoreError) as caught:
        store.query("select 1")
    check_refusal(caught.value, store.place, "")
    store.close()


def test_server_that_goes_away_while_reading_is_told_in_one_line(postgres_server: str) -> None:
    place = f"{postgres_server}?schema=s{uuid4().hex}"
    store = open_store(place, create=True)
    load(store, *base_rows())
    before = dump(store)

    def read() -> Iterator[Placed]:
        yield from put([make(Item, item_id="q2")])
        end_connection(store, postgres_server)

    with pytest.raises(StoreError) as caught:
        store.load(read(), ["f"])
    check_refusal(caught.value, store.place, "")
    store.close()
    with open_store(place) as again:
        assert dump(again) == before


def test_server_that_goes_away_while_writing_is_told_in_one_line(
    postgres_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = f"{postgres_server}?schema=s{uuid4().hex}"
    store = open_store(place, create=True)
    load(store, *base_rows())
    before = dump(store)
    real = loading._count_stored

    def end(*arguments: Any) -> int:
        found = real(*arguments)
        end_connection(store, postgres_server)
        return found

    monkeypatch.setattr(loading, "_count_stored", end)
    with pytest.raises(StoreError) as caught:
        load(store, make(Item, item_id="q2"))
    check_refusal(caught.value, store.place, "")
    store.close()
    with open_store(place) as again:
        assert dump(again) == before
