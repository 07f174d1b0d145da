"""Real databases for every test that needs one: SQLite files, and a PostgreSQL of our own."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, redirect_stdout
from fcntl import LOCK_EX, flock
from importlib import import_module
from itertools import count
from multiprocessing import get_context
from multiprocessing.context import ForkServerContext
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

import claimwise
from claimwise.accounts import queries
from claimwise.cli.main import run
from claimwise.demo import write_demo
from claimwise.store import Store, open_store
from support.copies import EmptyStores, Fill, StoreCopies, add_demo, add_nothing
from support.watchdog import make_run_folder, make_worker_folder, watch

# A busy machine is no counterexample: speed has tests of its own. `--hypothesis-profile thorough`
# looks for counterexamples longer.
settings.register_profile(
    "claimwise", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=40
)
settings.register_profile("thorough", settings.get_profile("claimwise"), max_examples=1000)
settings.load_profile("claimwise")

_numbers = count()
_MEMORY, _DISK = Path("/dev/shm"), Path("/tmp")
_MEASURED = pytest.StashKey[bool]()
_FOR_OTHER_TOOLS = [f"claimwise.scorers.{tool}" for tool in ("deepeval", "inspect", "mlflow")]
_MEASURED_SECONDS = 0.2  # of the processor, for each of a test and what is set up for it
_LEASH = pytest.StashKey[subprocess.Popen[str]]()
_PRELOADED = [
    "llm.killed", "pipeline.batch_runs", "pipeline.corpus_runs", "pipeline.instruments",
    "pipeline.judged_processes", "store.workers",
]  # fmt: skip
_ROOM = 8 * 2**30  # a PostgreSQL store takes some megabytes, and there are many hundreds


def _choose_root() -> Path:
    """Return where tests write: in memory, else on the disk.

    Databases come and go by the hundred, and a PostgreSQL store is made twice as fast in memory. A
    container's share of it may be small; then the disk serves.
    """
    if given := os.environ.get("PYTEST_DEBUG_TEMPROOT"):
        return Path(given)
    if os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free >= _ROOM:
        return _MEMORY
    return _DISK


def pytest_configure(config: pytest.Config) -> None:
    """Give this process a folder for all that is temporary, and a watchdog that removes it."""
    worker = getattr(config, "workerinput", None)
    if worker is None:
        folder, lock = make_run_folder(_choose_root())
        config.stash[_LEASH] = watch(folder, lock)
        os.close(lock)
    else:  # in the folder of the whole run
        folder = make_worker_folder(Path(tempfile.gettempdir()), worker["workerid"])
        config.stash[_LEASH] = watch(folder)
    os.environ["TMPDIR"] = tempfile.tempdir = str(folder)
    os.environ.pop("PYTEST_DEBUG_TEMPROOT", None)  # pytest's own folders go there too


def _get_coverage(config: pytest.Config) -> Any:
    """Return what measures coverage; None where it is not measured."""
    controller = getattr(config.pluginmanager.getplugin("_cov"), "cov_controller", None)
    return None if controller is None else controller.cov


def _leave_out_same_sql(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out variants of a test on PostgreSQL that run no statement but those of the first."""
    seen: set[str] = set()
    out = []
    for item in items:
        name, _, variant = item.nodeid.partition("[")
        if ENGINES[1] in variant and item.get_closest_marker("same_sql"):
            out += [item] if name in seen else []
            seen.add(name)
    items[:] = [item for item in items if item not in out]
    config.hook.pytest_deselected(items=out)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Choose the tests by which coverage is measured: tracing makes a test half as long again.

    Left out are those whose lines others run too: all variants of a test but the first (in
    tests/store the first on each engine), properties, which run the same lines for every example,
    the browser, which asks for what tests/app asks for, commands of docs and older versions.
    """
    _leave_out_same_sql(config, items)
    seen: set[tuple[str, str | None]] = set()
    for item in items:
        name, _, variant = item.nodeid.partition("[")
        engines = ENGINES if name.startswith("tests/store/") else ()
        key = (name, next((engine for engine in engines if engine in variant), None))
        item.stash[_MEASURED] = not (
            key in seen
            or name.startswith(("tests/browser/", "tests/docs/", "tests/recorded/"))
            or is_hypothesis_test(getattr(item, "obj", None))
        )
        seen.add(key)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Measure coverage of what modules do when they are imported: once, and of nothing else.

    Collecting tests imports them again in every worker, and much that is not ours.
    """
    coverage = _get_coverage(session.config)
    if coverage is None:
        return (yield)
    if not hasattr(session.config, "workerinput"):
        for module in walk_packages(claimwise.__path__, "claimwise."):
            if module.name not in _FOR_OTHER_TOOLS:
                import_module(module.name)
    coverage.stop()
    try:
        return (yield)
    finally:
        coverage.start()


@contextmanager
def _measure(item: pytest.Item) -> Iterator[None]:
    """Measure coverage for the first fifth of a second of the processor's time.

    Seven of eight tests take less. The others take more than half of the time, and mostly run what
    tests of their parts run too.
    """
    coverage = _get_coverage(item.config)
    if coverage is None or not item.stash[_MEASURED]:
        yield
        return
    before = signal.signal(signal.SIGPROF, lambda *_: sys.settrace(None))
    coverage.start()
    signal.setitimer(signal.ITIMER_PROF, _MEASURED_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        coverage.stop()
        signal.signal(signal.SIGPROF, before)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Stop measuring coverage while tests run: :func:`_measure` starts it again."""
    coverage = _get_coverage(item.config)
    if coverage is None:
        return (yield)
    coverage.stop()
    try:
        return (yield)
    finally:
        coverage.start()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    """Measure what is set up for a test by which coverage is measured."""
    with _measure(item):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Measure a test by which coverage is measured."""
    with _measure(item):
        return (yield)


@pytest.fixture(scope="session", autouse=True)
def _own_user_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nobody's settings but the tests' own are read or written, here and in processes we start."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLAIMWISE_USER_FOLDER", str(tmp_path_factory.mktemp("user") / "none"))
        patch.setenv("CLAIMWISE_CACHE_FOLDER", str(tmp_path_factory.mktemp("cache")))
        for name in ("CLAIMWISE_KEY_VARIABLES", "CLAIMWISE_TRUSTED_FOLDERS"):
            patch.delenv(name, raising=False)
        yield


@pytest.fixture
def user_folder(
    _own_user_folder: None,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    """The folder of a user's own settings; it is not there yet."""
    folder = tmp_path_factory.mktemp("user") / "claimwise"
    monkeypatch.setenv("CLAIMWISE_USER_FOLDER", str(folder))
    return folder


def _as_postgres(command: list[str]) -> None:
    """Run a command of the server, which refuses to be root."""
    prefix = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
    done = subprocess.run([*prefix, *command], capture_output=True, text=True, cwd="/", check=False)
    assert done.returncode == 0, done.stderr + done.stdout


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """Start a PostgreSQL cluster in a temporary folder; yield its URL."""
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    assert programs, "PostgreSQL is not installed: `make test` installs it"
    bin_folder = programs[-1].parent
    # Not pytest's own folder: the postgres user can't enter it.
    folder = Path(tempfile.mkdtemp(prefix="postgres-"))
    if os.getuid() == 0:
        shutil.chown(folder, "postgres")
    data, port = folder / "data", _free_port()
    try:
        _as_postgres(
            [
                str(bin_folder / "initdb"),
                "-D",
                str(data),
                "-U",
                "postgres",
                "-A",
                "trust",
                "-E",
                "UTF8",
                "--locale=C.UTF-8",
                "--no-sync",
            ]
        )
        options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off"
        # Shared memory in the folder: a killed server leaves none elsewhere. Tables are small:
        # compiling a query takes longer than running it. What is vacuumed while it is empty is
        # taken for empty when the next test has filled it.
        options += " -c max_wal_size=256MB -c dynamic_shared_memory_type=mmap -c jit=off"
        options += " -c autovacuum=off"
        log = str(folder / "log")
        pg_ctl = str(bin_folder / "pg_ctl")
        _as_postgres([pg_ctl, "-D", str(data), "-w", "-l", log, "-o", options, "start"])
        try:
            yield f"postgresql://postgres@127.0.0.1:{port}/postgres"
        finally:
            _as_postgres([pg_ctl, "-D", str(data), "-m", "immediate", "stop"])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def new_schema(postgres_server: str) -> str:
    """Return the URL of a store of its own on the server."""
    return f"{postgres_server}?schema=test_{os.getpid()}_{next(_numbers)}"


@pytest.fixture
def postgres_place(postgres_server: str) -> str:
    """The URL of a store of its own on the server."""
    return new_schema(postgres_server)


ENGINES = ("sqlite", "postgresql")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Choose the engines of a test: both in tests/store and where it is marked, else SQLite.

    PostgreSQL takes several times as long, and most tests run SQL that others run as well. The
    marked ones were chosen so that every statement still runs on both.
    """
    both = "store" in metafunc.definition.path.parts or any(
        metafunc.definition.iter_markers("each_engine")
    )
    for name in {"engine_name", "demo_place"}.intersection(metafunc.fixturenames):
        metafunc.parametrize(name, ENGINES if both else ENGINES[:1], indirect=True)


@pytest.fixture
def engine_name(request: pytest.FixtureRequest) -> str:
    """The name of each of a test's engines in turn."""
    return str(request.param)


@pytest.fixture
def new_place(engine_name: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a new store can be made, on each engine in turn."""
    if engine_name == "sqlite":
        return str(tmp_path / "store.db")
    return new_schema(request.getfixturevalue("postgres_server"))


@pytest.fixture(scope="session")
def empty_stores(postgres_server: str) -> Iterator[EmptyStores]:
    """Empty stores on PostgreSQL, used again and again."""
    stores = EmptyStores(postgres_server, lambda: new_schema(postgres_server))
    yield stores
    stores.close()


@pytest.fixture
def place(
    engine_name: str, request: pytest.FixtureRequest, store_copies: StoreCopies, tmp_path: Path
) -> Iterator[str]:
    """Where an empty store is, on each engine in turn."""
    if engine_name == "sqlite":
        yield str(shutil.copy(store_copies.copy(engine_name, add_nothing), tmp_path / "store.db"))
        return
    stores: EmptyStores = request.getfixturevalue("empty_stores")
    place = stores.take()
    yield place
    stores.give_back(place)


@pytest.fixture
def store(place: str) -> Iterator[Store]:
    """An empty store, on each engine in turn."""
    with open_store(place) as opened:
        yield opened


@pytest.fixture(scope="session")
def store_copies(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> StoreCopies:
    """Copies of stores that are filled once."""
    folder = tmp_path_factory.mktemp("copies")
    return StoreCopies(folder, lambda: str(request.getfixturevalue("postgres_server")))


@pytest.fixture
def copy_store(engine_name: str, store_copies: StoreCopies) -> Callable[[Fill], str]:
    """Make a store like others that were filled the same way, on each engine in turn."""
    return lambda fill: store_copies.copy(engine_name, fill)


@pytest.fixture(scope="session")
def demo_place(request: pytest.FixtureRequest, store_copies: StoreCopies) -> Iterator[str]:
    """A store with the demo data, on each engine in turn. Read it; don't write to it.

    Tests that write take a copy: ``own_demo``, or ``store_copies.copy(engine, add_demo)``.
    """
    where = store_copies.copy(request.param, add_demo)
    with open_store(where) as opened:
        filled = opened.count_rows()
    yield where
    with open_store(where) as opened:
        assert opened.count_rows() == filled, "a test wrote to the demo store that all tests share"


@pytest.fixture
def own_demo(store_copies: StoreCopies, tmp_path: Path) -> Path:
    """The demo data as ``claimwise.db`` in the test's folder: its own, to read and write."""
    return Path(store_copies.copy("sqlite", add_demo)).rename(tmp_path / "claimwise.db")


@pytest.fixture
def demo_store(demo_place: str) -> Iterator[Store]:
    """The demo data, on each engine in turn. Read it; don't write to it."""
    with open_store(demo_place) as opened:
        yield opened


@pytest.fixture
def forking(monkeypatch: pytest.MonkeyPatch) -> ForkServerContext:
    """Start processes from one that has imported everything, once."""
    # It does not see the sys.path of the tests.
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    context = get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    return context


@pytest.fixture
def quick_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Passwords are hashed as always, with less work: accounts and logins are made by the hundred.

    What a real hash takes is asserted in tests/store/test_accounts.py.
    """
    monkeypatch.setitem(queries._SCRYPT, "n", 2**8)


@pytest.fixture(scope="session")
def written_demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo project, unjudged. Copy it; don't write to it."""
    folder = tmp_path_factory.mktemp("written") / "demo"
    write_demo(folder)
    return folder


@pytest.fixture(scope="session")
def judged_demo() -> Path:
    """What ``claimwise demo`` makes, and beside it ``printed.txt``. Copy it; don't write to it.

    It takes seconds, so the first worker that needs it makes it for all.
    """
    own = Path(tempfile.gettempdir())
    run_folder = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    place = run_folder / "judged"
    with (run_folder / "judged.lock").open("w") as lock, pytest.MonkeyPatch.context() as patch:
        flock(lock, LOCK_EX)
        if not place.exists():
            made = Path(tempfile.mkdtemp(dir=run_folder))
            patch.setenv("COLUMNS", "100")
            patch.delenv("CLAIMWISE_STORE", raising=False)
            patch.chdir(made)
            with (
                Path("printed.txt").open("w", encoding="utf-8") as printed,
                redirect_stdout(printed),
            ):
                assert run(["demo", "demo"]) == 0
            made.rename(place)
    return place / "demo"
