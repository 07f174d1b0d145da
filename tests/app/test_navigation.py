"""The menu: the same seven places on every page, error pages included; labelers see Label alone."""

from __future__ import annotations

import html
import re

from claimwise.accounts.values import Role
from claimwise.app.app import list_routes
from claimwise.app.navigation import NAV, Menu, build_menu
from support.app_server import RunningApp

RANKS: dict[Role, int] = {"labeler": 0, "adjudicator": 1, "admin": 2}


def show_menu(role: Role, path: str) -> Menu:
    return build_menu(path, lambda needed: RANKS[role] >= RANKS[needed])


def test_every_page_of_the_menu_is_there_for_the_role_that_sees_it() -> None:
    routes = {route.path: route.role for route in list_routes() if route.method == "GET"}
    for section in NAV:
        for page in section.pages:
            needed = routes[page.path]
            assert needed is not None
            assert RANKS[page.role] >= RANKS[needed], page


def test_labelers_see_label_alone() -> None:
    menu = show_menu("labeler", "/label/round")
    assert [one.path for one in menu.sections] == ["/label", "/guide"]
    assert [one.current for one in menu.sections] == [True, False]
    assert not menu.pages
    assert not menu.searches


def test_a_place_shows_its_pages_and_leads_to_the_first_that_is_allowed() -> None:
    admin, other = show_menu("admin", "/audit"), show_menu("adjudicator", "/sql/faithfulness")
    assert {one.title: one.path for one in admin.sections}["Settings"] == "/people"
    assert [one.title for one in admin.sections if one.current] == ["Settings"]
    assert [one.path for one in admin.pages if one.current] == ["/audit"]
    assert {one.title: one.path for one in other.sections}["Settings"] == "/sql"
    assert "/people" not in {one.path for one in other.pages}
    assert [one.title for one in show_menu("admin", "/answers").sections if one.current] == [
        "Claims"
    ]


def test_a_page_has_one_name(demo_app: RunningApp) -> None:
    """Who follows a link of the menu finds its words again: in the heading, and in the title."""
    admin = demo_app.enter("root", "admin")
    for page in (page for section in NAV for page in section.pages):
        answer = admin.web.get(page.path, follow_redirects=True)
        assert answer.status_code == 200
        title, heading = (
            html.unescape(re.findall(rf"<{tag}\b[^>]*>(.*?)</{tag}>", answer.text, re.DOTALL)[0])
            for tag in ("title", "h1")
        )
        assert title.startswith(page.title), (page.path, title)
        assert heading.startswith(page.title), (page.path, heading)


def test_error_pages_name_a_next_step(demo_app: RunningApp) -> None:
    people = {"labeler": {"/label"}, "adjudicator": {"/", "/runs", "/claims"}}
    for role, wanted in people.items():
        page = demo_app.enter(role, "labeler" if role == "labeler" else "adjudicator").web
        main = page.get("/nowhere").text.partition("<main")[2]
        assert set(re.findall(r'href="([^"]+)"', main)) == wanted
        for path in wanted:
            assert page.get(path, follow_redirects=True).status_code == 200
    main = demo_app.visit().web.get("/nowhere").text.partition("<main")[2]
    assert re.findall(r'href="([^"]+)"', main) == ["/"]


def test_error_pages_keep_the_menu_of_whoever_is_logged_in(app: RunningApp) -> None:
    labeler, stranger = app.enter("anna"), app.visit()
    for path, status in (("/nowhere", 404), ("/people", 403), ("/label/nowhere", 404)):
        answer = labeler.web.get(path)
        assert answer.status_code == status
        menu = re.findall(r'<nav class="places".*?</nav>', answer.text, re.DOTALL)
        assert re.findall(r'href="([^"]+)"', menu[0]) == ["/label", "/guide"]
    answer = stranger.web.get("/nowhere")
    assert answer.status_code == 404
    assert '<a class="brand" href="/">claimwise</a>' in answer.text
    assert "<nav" not in answer.text
