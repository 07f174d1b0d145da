"""A way through the app in a browser, for the end-to-end test and the pictures of the docs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from zlib import crc32

from playwright.sync_api import Page, expect

from claimwise.demo import list_demo_files
from claimwise.store import open_store
from claimwise.transfer import import_files

RUN = "candidate"
CLAIMS = 20
PASSWORD = "correct horse battery"


def fill_store(place: str, folder: Path) -> None:
    """Make a store of the demo data in which only a verifier has labelled the newest run.

    Args:
        place: where the store will be.
        folder: an empty folder for the data's files.
    """
    for path in list_demo_files():
        lines = path.read_text("utf-8").splitlines(keepends=True)
        kept = [line for line in lines if path.stem != "labels" or _is_kept(json.loads(line))]
        (folder / path.name).write_text("".join(kept), "utf-8")
    with open_store(place, create=True) as store:
        import_files(store, [folder])


def _is_kept(label: dict[str, str]) -> bool:
    return label["run_id"] != RUN or label["labeler"].startswith("verifier:")


def wait_figures(page: Page) -> None:
    """Wait until a page says that its figures count all that was stored when it was asked for."""
    expect(page.locator("[data-figures]")).to_have_attribute("data-figures", "current")


def make_account(page: Page, link: str, name: str) -> None:
    page.goto(link)
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_label("Password again").fill(PASSWORD)
    page.get_by_role("button", name="Make account").click()
    expect(page.locator(".who")).to_contain_text(name)


def invite(admin: Page, address: str, role: str) -> str:
    admin.goto(f"{address}/people")
    admin.get_by_label("Invite a").select_option(role)
    admin.get_by_role("button", name="Make link").click()
    return admin.locator(".note .token").inner_text()


def make_round(admin: Page, address: str, *, title: str = "", size: int = CLAIMS) -> str:
    """Make a round that everybody labels whole; return its id."""
    admin.goto(f"{address}/rounds")
    admin.get_by_label("Run", exact=True).fill(RUN)
    admin.get_by_label("Title", exact=True).fill(title)
    admin.get_by_label("Claims", exact=True).fill(str(size))
    admin.get_by_label("Labelled by several people").fill("100")
    admin.get_by_text("Sampling options").click()
    admin.get_by_label("At least this many of each group").fill("1")
    admin.get_by_role("button", name="Create round").click()
    expect(admin).to_have_url(re.compile(r"/rounds/."))
    return admin.url.rsplit("/", 1)[1]


def label_all(page: Page, *, flips: int) -> int:
    """Label by keyboard until nothing is left; return how many claims that were.

    Who labels calls about half of the claims supported, by the words of the claim alone, and says
    the other thing on every claim whose words fall on ``flips``.
    """
    labelled = 0
    while not page.locator("#finished").is_visible():
        code = crc32(page.locator("#claim-text").inner_text().encode())
        supported = bool(code & 1) != (flips > 0 and code // 2 % flips == 0)
        is_action = page.locator("#log-part").is_visible()
        with page.expect_response(re.compile(r"/api/tasks/.*/label$")) as answered:
            press_verdict(page, supported=supported and not is_action)
        assert answered.value.ok
        labelled += 1
        page.wait_for_function(
            "() => !document.getElementById('desk').classList.contains('waiting')"
        )
    return labelled


def press_verdict(page: Page, *, supported: bool) -> None:
    """Give a verdict with keys alone: the first text offered, stale where no source held."""
    if not supported:
        page.keyboard.press("2")
        page.keyboard.press("Enter")
        return
    page.keyboard.press("1")
    if not page.locator(".offer").count():
        page.keyboard.press("5")
    page.keyboard.press("q")


def decide_all(page: Page, address: str, round_id: str) -> int:
    """Decide every dispute as the first label says, by keyboard; return how many there were."""
    page.goto(f"{address}/adjudicate/{round_id}")
    waiting = page.locator(".disputes a").count()
    assert waiting
    page.locator(".disputes a").first.click()
    for number in range(waiting):
        expect(page.locator("#desk")).to_have_attribute("data-ready", "true")
        here = page.url
        page.keyboard.press("a")
        expect(page).not_to_have_url(here)
        last = number == waiting - 1
        assert bool(re.search(rf"/adjudicate/{re.escape(round_id)}$", page.url)) == last
    expect(page.locator("h2").first).to_contain_text("0 of")
    return waiting
