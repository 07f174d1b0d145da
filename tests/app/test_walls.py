"""What strangers, forgers and the curious get: refused, and nothing changed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from urllib.parse import quote

import httpx2
import pytest

from claimwise.app.app import list_routes
from claimwise.app.requests import PageRoute, load_templates
from claimwise.app.security import BODY_LIMIT, HEADERS, check_host, check_origin, read_address
from claimwise.labelling.draw import draw_round
from claimwise.labelling.guide import read_guide
from claimwise.labelling.rounds import add_guide
from claimwise.store import Store
from claimwise.store.files import SqlFolder
from support.app_server import PASSWORD, RunningApp, fill_path, run_app, utc_now
from support.copies import Fill, add_demo

HOSTILE = (
    "'; drop table accounts; --",
    '" or 1=1 --',
    "<script>alert(1)</script>",
    "{{ 7*7 }}{% raw %}",
    "../../etc/passwd",
    "%00",
    "\u202e\u0007\x1b[31m",
    "a" * 5000,
    "🙂é\ufeff",
    "-1",
    "99999999999999999999",
    "nan",
)


GET_FIELDS = (
    "who", "event", "before", "next", "size", "have", "corpus", "task", "run", "item", "sample",
    "claim", "list", "q", "verdict", "group", "group2", "disputed", "judge", "source", "reason",
    "basis", "after", "base", "new", "from", "to", "page", "metric", "system", "baseline", "tab",
    "stage", "held",
)  # fmt: skip


def count_everything(store: Store) -> dict[str, int]:
    """Return the number of rows of every table there is."""
    schema = SqlFolder("claimwise.store", "sql/schema").values()
    made = [name for sql in schema for name in re.findall(r"create table (\w+)", sql)]
    renamed = {name for sql in schema for name in re.findall(r"alter table (\w+) rename to", sql)}
    tables = [name for name in made if name not in renamed]
    return {name: store.query(f"select count(*) from {name}")[0][0] for name in tables}


def add_demo_and_round(store: Store) -> None:
    add_demo(store)
    guide = read_guide("grounded")
    add_guide(store, guide.version, guide.text, utc_now())
    draw_round(store, "baseline", "grounded", title="a round", created_by="admin",
               guide_version=guide.version, now=utc_now())  # fmt: skip


@pytest.fixture
def labelling(copy_store: Callable[[Fill], str], tmp_path: Path) -> Iterator[RunningApp]:
    """The app over the demo data with a round, on each engine in turn."""
    with run_app(copy_store(add_demo_and_round), tmp_path) as running:
        yield running


def guarded() -> list[PageRoute]:
    return [route for route in list_routes() if route.role is not None]


def test_only_the_ways_in_are_open_to_everyone() -> None:
    open_paths = {route.path for route in list_routes() if route.role is None}
    ways_in = {"/login", "/logout", "/setup/{token}", "/invite/{token}"}
    assert open_paths == {*ways_in, "/share/{token}"}, "a shared overview has a token of its own"


@pytest.mark.each_engine
def test_every_route_without_login_leads_to_the_login_and_changes_nothing(
    labelling: RunningApp,
) -> None:
    stranger = labelling.visit()
    stranger.get("/login")
    with labelling.open() as store:
        before = count_everything(store)
        for route in guarded():
            path = fill_path(store, route.path)
            for answer in (
                stranger.web.request(route.method, path, data={"csrf": stranger.csrf}),
                stranger.web.request(
                    route.method, path, json={"verdict": "unlinked"},
                    headers={"x-csrf-token": stranger.csrf},
                ),
            ):  # fmt: skip
                sent_away = answer.status_code == 303 and answer.headers["location"].startswith(
                    "/login"
                )
                assert sent_away or answer.status_code == 401, (route.method, path)
        assert count_everything(store) == before


def test_a_role_too_low_is_refused_recorded_and_changes_nothing_else(
    labelling: RunningApp,
) -> None:
    lower = {"admin": "adjudicator", "adjudicator": "labeler"}
    people = {role: labelling.enter(role, role) for role in ("labeler", "adjudicator")}
    with labelling.open() as store:
        before = count_everything(store)
        refused = 0
        for route in guarded():
            if route.role not in lower:
                continue
            person = people[lower[route.role]]
            answer = person.web.request(
                route.method, fill_path(store, route.path), data={"csrf": person.csrf}
            )
            assert answer.status_code == 403, (route.method, route.path)
            refused += 1
        after = count_everything(store)
        assert refused > 5
        assert after.pop("audit_events") == before.pop("audit_events") + refused
        assert after == before


def test_every_form_needs_its_token_from_our_own_page(labelling: RunningApp) -> None:
    admin = labelling.enter("root", "admin")
    other = labelling.enter("other", "admin")
    with labelling.open() as store:
        before = count_everything(store)
        for route in list_routes():
            if route.method == "GET":
                continue
            path = fill_path(store, route.path)
            good = {"csrf": admin.csrf}
            for fields, headers in (
                ({}, {}),
                ({"csrf": "wrong"}, {}),
                ({"csrf": ""}, {}),
                ({"csrf": other.csrf}, {}),
                (good, {"origin": "http://evil.example"}),
                (good, {"origin": "null"}),
                (good, {"origin": "http://127.0.0.1:1"}),
                (good, {"sec-fetch-site": "cross-site"}),
                (good, {"sec-fetch-site": "same-site"}),
            ):
                answer = admin.web.request(route.method, path, data=fields, headers=headers)
                assert answer.status_code == 403, (path, fields, headers)
        after = count_everything(store)
        del after["audit_events"], before["audit_events"]
        assert after == before


def test_our_own_forms_pass_with_their_origin(app: RunningApp) -> None:
    admin = app.enter("root", "admin")
    answer = admin.web.post(
        "/people/invite",
        data={"csrf": admin.csrf, "role": "labeler"},
        headers={"origin": app.url, "sec-fetch-site": "same-origin"},
    )
    assert answer.status_code == 200


def test_every_answer_carries_the_headers(labelling: RunningApp) -> None:
    admin = labelling.enter("root", "admin")
    for path in ("/people", "/nowhere", "/login", "/api/nowhere", "/rounds/nowhere"):
        answer = admin.web.get(path)
        assert {name: answer.headers[name] for name in HEADERS} == HEADERS, path
    sheet = admin.web.get("/static/base.css")
    assert sheet.headers["content-security-policy"] == HEADERS["content-security-policy"]
    again = admin.web.get("/static/base.css", headers={"if-none-match": sheet.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_no_path_leads_out_of_the_static_files(app: RunningApp) -> None:
    for path in (
        "/static/../app.py",
        "/static/..%2fapp.py",
        "/static/%2e%2e/app.py",
        "/static/....//app.py",
        "/static/..%5capp.py",
        "/static//etc/passwd",
        "/static/",
        "/static/base.css%00",
    ):
        request = httpx2.Request("GET", httpx2.URL(app.url).copy_with(raw_path=path.encode()))
        with httpx2.Client(verify=False) as web:
            answer = web.send(request)
        assert answer.status_code == 404, path
        assert "import" not in answer.text


def test_unknown_paths_and_methods(app: RunningApp) -> None:
    person = app.enter("anna")
    assert person.web.get("/nowhere").status_code == 404
    assert person.web.get("/account/").status_code == 404
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS"):
        assert person.web.request(method, "/account").status_code == 405
    missing = person.web.get("/api/nowhere")
    assert missing.json() == {"error": "There is no such page."}


def test_a_body_too_long_is_refused_declared_or_not(app: RunningApp) -> None:
    person = app.enter("anna")
    body = b"x" * (BODY_LIMIT + 1)
    assert person.web.post("/account", content=body).status_code == 413

    def chunks() -> Iterator[bytes]:
        yield from (b"x" * 65536 for _ in range(5))

    assert person.web.post("/account", content=chunks()).status_code == 413
    many = "&".join(f"a{n}=1" for n in range(500))
    kind = {"content-type": "application/x-www-form-urlencoded"}
    assert person.web.post("/account", content=many, headers=kind).status_code == 400


def test_null_characters_are_refused_everywhere(labelling: RunningApp) -> None:
    admin = labelling.enter("root", "admin")
    with labelling.open() as store:
        task = store.query("select task_id from annotation_tasks")[0][0]
        before = count_everything(store)
        for answer in (
            admin.post("/people/reset", name="a\0b"),
            admin.post("/rounds", title="a\0b", run="baseline"),
            admin.web.get("/audit", params={"who": "a\0b"}),
            admin.web.get("/rounds/a%00b"),
            admin.post_json(f"/api/tasks/{task}/skip", {"reason": "a\0b"}),
        ):
            assert answer.status_code == 400, answer.request.url
        after = count_everything(store)
        del after["audit_events"], before["audit_events"]
        assert after == before


def test_hostile_text_in_every_field_breaks_nothing(labelling: RunningApp) -> None:
    """SQL, markup, template code, control characters: refused or taken as mere text."""
    admin = labelling.enter("root", "admin")
    fields = ("name", "role", "hours", "run", "judgement", "title", "size", "overlap", "verifier",
              "overlap_labels", "floor", "seed", "old", "password", "again", "reason")  # fmt: skip
    with labelling.open() as store:
        labels = count_everything(store)["labels"]
        for route in list_routes():
            if route.path == "/logout":
                continue
            for text in HOSTILE:
                path = fill_path(store, route.path)
                if route.method == "GET":
                    raw = quote(text[:300], safe="")
                    answer = admin.web.get(
                        re.sub(r"\{[\w:]+\}", raw, route.path),
                        params=dict.fromkeys(GET_FIELDS, text[:1200]),
                    )
                else:
                    if route.path == "/account":
                        continue  # throttled like the login; its own test is in test_entering.py
                    sent = dict.fromkeys(fields, text)
                    answer = admin.post(path, **sent)
                    assert answer.status_code < 500, (route.path, text, answer.text)
                    answer = admin.post_json(path, sent)
                assert answer.status_code < 500, (route.path, text, answer.text)
                assert "<script>alert" not in answer.text
                assert "49{%" not in answer.text
        after = count_everything(store)
        assert after["labels"] == labels
        assert after["accounts"] == 1
        assert after["annotation_rounds"] == 1


def test_hostile_titles_are_shown_as_text(labelling: RunningApp) -> None:
    admin = labelling.enter("root", "admin")
    title = "<script>alert('{{ 7*7 }}')</script>"
    made = admin.post("/rounds", run="candidate", title=title)
    assert made.status_code == 303
    for path in (made.headers["location"], "/rounds", "/label"):
        page = admin.get(path).text
        assert "&lt;script&gt;alert(&#39;{{ 7*7 }}" in page
        assert "<script>alert" not in page
    again = admin.post("/rounds", run="candidate", title=title)
    assert again.status_code == 400, "a form sent twice makes one round"
    with labelling.open() as store:
        assert count_everything(store)["annotation_rounds"] == 2


def test_json_must_be_json_of_the_right_shape(labelling: RunningApp) -> None:
    person = labelling.enter("anna")
    with labelling.open() as store:
        task = store.query("select task_id from annotation_tasks")[0][0]
    for body in (b"{", b"[]", b'{"verdict": 1}', b"\xff\xfe", b"[" * 100_000, b'{"x": "\\ud800"}'):
        answer = person.web.post(
            f"/api/tasks/{task}/label",
            content=body,
            headers={"content-type": "application/json", "x-csrf-token": person.csrf},
        )
        assert answer.status_code == 400, body[:20]
        assert list(answer.json()) == ["error"]
        assert "\n" not in answer.json()["error"]


def test_a_fault_shows_nothing_of_our_insides(
    app: RunningApp, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from claimwise.app import people

    admin = app.enter("root", "admin")

    def fail(*_: object) -> None:
        raise ValueError("secret\x1b[31m\ninsides")

    monkeypatch.setattr(people, "list_accounts", fail)
    answer = admin.web.get("/people")
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert "Traceback" not in answer.text
    logged = [line for line in capfd.readouterr().err.splitlines() if "GET /people" in line]
    assert len(logged) == 1
    assert "\x1b" not in logged[0]
    assert "ValueError: secret" in logged[0]


def test_a_line_of_the_log_has_an_end(app: RunningApp, capfd: pytest.CaptureFixture[str]) -> None:
    person = app.enter("anna")
    assert person.web.get(f"/people?{'a' * 30_000}").status_code == 403
    assert person.web.post(f"/people/reset?{'a' * 9}{'b' * 9}", data={}).status_code == 403
    assert person.web.get(f"/agreement/{'a' * 30_000}").status_code == 403
    logged = capfd.readouterr().err.splitlines()
    assert sum("refused anna" in line for line in logged) == 3
    assert max(map(len, logged)) <= 2000


@pytest.mark.each_engine
def test_what_strangers_are_refused_is_logged_and_not_stored(
    app: RunningApp, capfd: pytest.CaptureFixture[str]
) -> None:
    stranger = app.visit()
    stranger.web.post("/login", data={"name": "anna"})
    stranger.web.post("/login", content=b"x" * (BODY_LIMIT + 1))
    stranger.web.get("/invite/forged")
    app.visit(host="evil.example").web.get("/login")
    logged = [line for line in capfd.readouterr().err.splitlines() if line.startswith("refused")]
    wanted = ("POST /login: 403", "POST /login: 413", "GET /invite/…: 410", "GET /login: 421")
    assert all(
        line.startswith(f"refused 127.0.0.1: {one}")
        for one, line in zip(wanted, logged, strict=True)
    )
    with app.open() as store:
        assert count_everything(store)["audit_events"] == 0


def test_pages_are_read_when_the_server_starts() -> None:
    """An upgrade under a running server must not mix its pages with the new ones."""
    folder = files("claimwise.app").joinpath("templates")
    assert load_templates().list_templates() == sorted(path.name for path in folder.iterdir())


def test_foreign_host_names_are_refused(app: RunningApp) -> None:
    assert app.visit(host="evil.example").web.get("/login").status_code == 421
    assert app.visit(host="evil.example:8700").web.get("/static/base.css").status_code == 421
    for name in ("localhost", "127.0.0.1:8700", "[::1]:8700", "claims.example", "CLAIMS.example"):
        assert app.visit(host=name).web.get("/login").status_code == 200, name


@pytest.mark.parametrize(
    "host",
    [None, "", "a b", "localhost@evil.example", "evil.example@localhost", "evil:x@localhost:1",
     "[::1", "localhost:x", "localhost:99999", "localhost/", "localhost#", "localhost?",
     "localhost:", "localhost, evil.example", "local host", "localhost\n"],
)  # fmt: skip
def test_strange_host_headers_are_refused(host: str | None) -> None:
    from claimwise.app.requests import Refusal

    with pytest.raises(Refusal):
        check_host(host, frozenset({"localhost"}))


@pytest.mark.parametrize(
    ("host", "start"),
    [("localhost", "http://localhost/"), ("LOCALHOST:8700", "http://localhost:8700/"),
     ("[::1]:8700", "http://[::1]:8700/"), ("Claims.example", "http://claims.example/")],
)  # fmt: skip
def test_links_are_made_from_allowed_names(app: RunningApp, host: str, start: str) -> None:
    admin = app.enter("root", "admin")
    sent = {"csrf": admin.csrf, "role": "labeler"}
    page = admin.web.post("/people/invite", data=sent, headers={"host": host}).text
    assert f"{start}invite/" in page
    forged = admin.web.post("/people/invite", data=sent, headers={"host": f"evil.example@{host}"})
    assert (forged.status_code, "evil.example" in forged.text) == (421, False)


def test_an_origin_is_ours_with_or_without_the_usual_port() -> None:
    check_origin({"origin": "https://claims.example", "host": "claims.example"})
    check_origin({"origin": "https://claims.example", "host": "claims.example:443"})
    check_origin({"host": "claims.example"})


@pytest.mark.parametrize(
    ("forwarded", "proxies", "found"),
    [
        (["1.2.3.4"], 0, "10.0.0.1"),
        ([], 1, "10.0.0.1"),
        (["6.6.6.6, 1.2.3.4"], 1, "1.2.3.4"),
        (["6.6.6.6", "1.2.3.4"], 1, "1.2.3.4"),
        (["6.6.6.6, 1.2.3.4", "10.0.0.2"], 2, "1.2.3.4"),
        (["1.2.3.4"], 2, "10.0.0.1"),
        (["1.2.3.4:5678"], 1, "1.2.3.4"),
        (["[2001:db8::7]:5678"], 1, "2001:db8::/64"),
        (["::ffff:1.2.3.4"], 1, "1.2.3.4"),
        (["<script>"], 1, "10.0.0.1"),
        (["1.2.3.4,"], 1, "10.0.0.1"),
    ],
)
def test_forwarded_addresses_count_from_the_right(
    forwarded: list[str], proxies: int, found: str
) -> None:
    assert read_address("10.0.0.1", forwarded, proxies=proxies) == found


@pytest.mark.parametrize(
    ("client", "found"),
    [
        ("2001:db8::1", "2001:db8::/64"),
        ("::ffff:1.2.3.4", "1.2.3.4"),
        ("fe80::1%eth0", "fe80::/64"),
        (None, "unknown"),
    ],
)
def test_the_other_end_is_an_address_or_a_network(client: str | None, found: str) -> None:
    """``--host ::`` sees IPv4 clients as IPv6: they are not one network."""
    assert read_address(client, [], proxies=0) == found


@pytest.mark.each_engine
def test_a_page_of_people_escapes_what_they_typed(app: RunningApp) -> None:
    admin = app.enter("root", "admin")
    stranger = app.visit()
    stranger.get("/login")
    stranger.post("/login", name="<script>alert(1)</script>", password="x")
    page = admin.get("/audit").text
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>alert" not in page
    assert PASSWORD not in page
