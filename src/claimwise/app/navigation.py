"""The menu: seven places, the pages in each, and who sees them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from claimwise.accounts.values import Role


class NavLink(NamedTuple):
    """A page in the menu, for everyone whose role reaches it."""

    path: str
    title: str
    role: Role
    within: tuple[str, ...] = ()  # other paths whose pages belong to it

    def holds(self, path: str) -> bool:
        """Return whether a path is this page or one below it."""
        return any(
            path == own or (own != "/" and path.startswith(f"{own}/"))
            for own in (self.path, *self.within)
        )


class NavSection(NamedTuple):
    """A place in the menu: the first page that someone may see is where it leads."""

    title: str
    pages: tuple[NavLink, ...]


class MenuEntry(NamedTuple):
    """A link of the menu as one page shows it."""

    path: str
    title: str
    current: bool


class Menu(NamedTuple):
    """The menu as one page shows it: the places, and the pages of the one it belongs to."""

    sections: list[MenuEntry]
    pages: list[MenuEntry]
    section: str  # the title of the place that the page belongs to
    searches: bool  # whether claims can be searched from here


NAV: Final = (
    NavSection("Overview", (NavLink("/", "Overview", "adjudicator"),)),
    NavSection("Claims", (NavLink("/claims", "Claims", "adjudicator", ("/answers",)),)),
    NavSection(
        "Runs",
        (
            NavLink("/runs", "All runs", "adjudicator", ("/items",)),
            NavLink("/compare", "Compare", "adjudicator"),
            NavLink("/drift", "Drift", "adjudicator"),
        ),
    ),
    NavSection(
        "Monitor",
        (
            NavLink("/monitor", "Live traffic", "adjudicator"),
            NavLink("/alarms", "Alarms", "adjudicator"),
            NavLink("/incidents", "Incidents", "adjudicator"),
        ),
    ),
    NavSection(
        "Label",
        (
            NavLink("/label", "My queue", "labeler"),
            NavLink("/adjudicate", "Disputes", "adjudicator"),
            NavLink("/gold-spans", "Golden set", "adjudicator"),
            NavLink("/rounds", "Rounds", "admin"),
            NavLink("/guide", "Guide", "labeler"),
        ),
    ),
    NavSection(
        "Trust",
        (
            NavLink("/agreement", "Labeler agreement", "adjudicator"),
            NavLink("/calibrations", "Judges", "adjudicator"),
        ),
    ),
    NavSection(
        "Settings",
        (
            NavLink("/people", "People", "admin"),
            NavLink("/audit", "Audit", "admin"),
            NavLink("/sql", "Metrics (SQL)", "adjudicator"),
            NavLink("/gates", "Gates", "adjudicator"),
            NavLink("/shares", "Shared links", "admin"),
        ),
    ),
)


def build_menu(path: str, allows: Callable[[Role], bool]) -> Menu:
    """Return the menu of a page for someone; one who sees a single place gets its pages instead."""
    allowed = ((one.title, [page for page in one.pages if allows(page.role)]) for one in NAV)
    seen = [(title, pages) for title, pages in allowed if pages]
    if len(seen) == 1:
        return Menu(_list_entries(seen[0][1], path), [], seen[0][0], searches=False)
    here, pages = next((one for one in seen if any(page.holds(path) for page in one[1])), ("", []))
    return Menu(
        sections=[MenuEntry(pages[0].path, title, title == here) for title, pages in seen],
        pages=_list_entries(pages, path) if len(pages) > 1 else [],
        section=here,
        searches=not path.startswith("/claims"),
    )


def _list_entries(pages: Sequence[NavLink], path: str) -> list[MenuEntry]:
    return [MenuEntry(one.path, one.title, one.holds(path)) for one in pages]
