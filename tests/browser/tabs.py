"""Tabs that one test after the other gets: opening one takes a second of work."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from playwright.sync_api import Browser, ConsoleMessage, Error, Page, Response

from support.waiting import DEADLINE

LendTab = Callable[..., "Tab"]


class Tab:
    """A page with cookies of its own, and what it asked for and said since it was lent."""

    def __init__(self, browser: Browser) -> None:
        self.page: Page = browser.new_context().new_page()
        self.page.set_default_timeout(1000 * DEADLINE)
        self.requests: list[str] = []
        self.responses: list[Response] = []
        self.console: list[str] = []
        self.warnings: list[str] = []
        self.errors: list[str] = []
        self.page.on("request", lambda asked: self.requests.append(asked.url))
        self.page.on("response", lambda came: self.responses.append(came))
        self.page.on("console", self._note)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("dialog", lambda dialog: dialog.accept())  # “leave without saving?”

    def _note(self, message: ConsoleMessage) -> None:
        self.console.append(message.text)
        # Chromium also tells, as information, where a focus came too late.
        if message.type in ("error", "warning"):
            self.warnings.append(message.text)

    def set_look(self, width: int, scheme: str) -> None:
        """Give the page a width and a colour scheme."""
        self.page.set_viewport_size({"width": width, "height": 844})
        self.page.emulate_media(
            media="screen", color_scheme="dark" if scheme == "dark" else "light"
        )

    def clear(self) -> None:
        """Make it as good as new: no page, no cookies, nothing stored, nothing intercepted."""
        context = self.page.context
        context.set_offline(False)
        for other in context.pages:
            if other != self.page:
                other.close()
        self.page.unroute_all(behavior="ignoreErrors")
        with suppress(Error):  # where nothing can be stored, for example on a page of its own file
            self.page.evaluate("localStorage.clear(); sessionStorage.clear()")
        self.page.goto("about:blank")
        self.page.mouse.move(0, 0)
        context.clear_cookies()
        for noted in (self.requests, self.responses, self.console, self.warnings, self.errors):
            noted.clear()


class TabPool:
    """Opens as many tabs as a test needs, and keeps them for the next test."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._free: list[Tab] = []
        self._lent: list[Tab] = []

    def lend(self, *, width: int = 1280, scheme: str = "light") -> Tab:
        """Return an empty tab."""
        tab = self._free.pop() if self._free else Tab(self._browser)
        self._lent.append(tab)
        tab.set_look(width, scheme)
        return tab

    def take_back(self) -> None:
        """Empty all tabs that were lent; one that can't be emptied is closed."""
        while self._lent:
            tab = self._lent.pop()
            try:
                tab.clear()
            except Error:
                tab.page.context.close()
            else:
                self._free.append(tab)
