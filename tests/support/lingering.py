"""A test that starts one of every kind of server and never ends.

pytest does not find it by itself: tests/test_leftovers.py runs it, and kills the run.
"""

from __future__ import annotations

import json
import os
import tempfile
import threading
from pathlib import Path

from playwright.sync_api import sync_playwright

from browser.conftest import CHROMIUM, QUIET
from claimwise.store import open_store
from support.app_process import AppProcess


def test_servers_that_linger(postgres_server: str, tmp_path: Path) -> None:
    place = str(tmp_path / "store.db")
    open_store(place, create=True).close()
    with AppProcess(tmp_path, place), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        browser.new_page().goto("about:blank")
        ready = {
            "worker": os.getpid(),
            "folder": tempfile.gettempdir(),
            "database": postgres_server,
        }
        told = Path(os.environ["LINGERING_READY"])
        told.with_suffix(".part").write_text(json.dumps(ready), "utf-8")
        told.with_suffix(".part").rename(told)
        threading.Event().wait()
