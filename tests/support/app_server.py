"""The app on a real server in this process, and people who use it over HTTP."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import httpx2

from claimwise.accounts.queries import create_account
from claimwise.accounts.values import Role
from claimwise.app.api import Api
from claimwise.app.app import Site, build_app
from claimwise.app.connections import ConnectionLimits, build_server
from claimwise.app.pool import StorePool
from claimwise.app.security import list_hosts
from claimwise.app.server import ServeOptions, bind_socket
from claimwise.config import Config, Project
from claimwise.store import Store, open_store
from support.waiting import DEADLINE, wait_until

PASSWORD = "four plain words here"
_TOKEN = re.compile(r'name="csrf" value="([^"]+)"')


def utc_now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)


def fill_path(store: Store, path: str) -> str:
    """Return a route's path with ids that exist."""
    values = {
        "{round_id}": "select round_id from annotation_rounds",
        "{task_id}": "select task_id from annotation_tasks",
        "{run_id:path}": "select run_id from runs order by run_id",
        "{version:path}": "select guide_version from guide_versions",
    }
    for name, sql in values.items():
        path = path.replace(name, store.query(sql)[0][0])
    return re.sub(r"\{[\w:]+\}", "faithfulness", path)


class Person:
    """A browser without scripts: keeps cookies, and sends the form token it was given."""

    def __init__(self, url: str, headers: dict[str, str] | None = None) -> None:
        # No certificates: there is nothing to verify, and reading them takes longer than a page.
        self.web = httpx2.Client(base_url=url, headers=headers, timeout=DEADLINE, verify=False)
        self.csrf = ""

    def get(self, path: str, **extra: str) -> httpx2.Response:
        answer = self.web.get(path, headers=extra)
        found = _TOKEN.search(answer.text)
        if found:
            self.csrf = found[1]
        return answer

    def get_current(self, path: str) -> httpx2.Response:
        """Ask for a page until it says that its figures count all that is stored."""

        def ask() -> httpx2.Response | None:
            answer = self.get(path)
            return None if 'data-figures="calculating"' in answer.text else answer

        found = wait_until(ask, f"the figures of {path} are up to date")
        assert found is not None
        return found

    def post(self, path: str, **fields: str) -> httpx2.Response:
        return self.web.post(path, data={"csrf": self.csrf, **fields})

    def post_json(self, path: str, value: object) -> httpx2.Response:
        return self.web.post(path, json=value, headers={"x-csrf-token": self.csrf})

    def log_in(self, name: str, password: str = PASSWORD) -> httpx2.Response:
        self.get("/login")
        answer = self.post("/login", name=name, password=password)
        if answer.status_code == 303:
            self.get("/account")
        return answer


class RunningApp:
    """The app, where it is, and its store."""

    def __init__(self, url: str, place: str, ends: ExitStack) -> None:
        self.url = url
        self.place = place
        self._ends = ends

    def visit(self, **headers: str) -> Person:
        """Return someone who is not logged in."""
        person = Person(self.url, headers)
        self._ends.callback(person.web.close)
        return person

    def enter(self, name: str, role: Role = "labeler") -> Person:
        """Make an account and log in."""
        with self.open() as store:
            create_account(store, name, role, PASSWORD, utc_now())
        person = self.visit()
        assert person.log_in(name).status_code == 303
        return person

    def open(self) -> Store:
        """Open the store beside the app."""
        return open_store(self.place)


@contextmanager
def run_app(
    place: str,
    folder: Path,
    *,
    behind_https: bool = False,
    proxies: int = 0,
    clock: Callable[[], datetime] = utc_now,
    limits: ConnectionLimits | None = None,
    open_one: Callable[[str], Store] = open_store,
    config: Config | None = None,
) -> Iterator[RunningApp]:
    """Serve the store at a place on a free port until the block ends.

    With settings it is served to programs as well.
    """
    pool = StorePool(lambda: open_one(place))
    project = Project(folder, config or Config())
    api = None if config is None else Api(pool, project, clock)
    site = Site(
        api=api,
        pool=pool,
        project=project,
        hosts=list_hosts("127.0.0.1", ["claims.example"]),
        behind_https=behind_https,
        proxies=proxies,
        clock=clock,
    )
    bound = bind_socket(ServeOptions(port=0))
    server = build_server(build_app(site), limits)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
    thread.start()
    try:
        if api:
            api.__enter__()
        wait_until(lambda: server.started or not thread.is_alive(), "the app is served")
        assert thread.is_alive()
        with ExitStack() as ends:
            yield RunningApp(f"http://127.0.0.1:{bound.getsockname()[1]}", place, ends)
    finally:
        server.should_exit = True
        thread.join(DEADLINE)
        if api:
            api.__exit__(None, None, None)
        bound.close()
        pool.close()
        for other in threading.enumerate():
            if other.name == "figures":  # what it measures now, it measures to the end
                other.join(DEADLINE)
