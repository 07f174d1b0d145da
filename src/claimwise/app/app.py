"""Joins the pages to a web application: routing, sessions, roles, form tokens, errors."""

from __future__ import annotations

import asyncio
import hashlib
import mimetypes
import os
import traceback
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import files
from urllib.parse import parse_qsl, quote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response as WebResponse
from starlette.responses import StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from claimwise.accounts.queries import add_event, read_session
from claimwise.app import (
    adjudication,
    agreement,
    alarm_pages,
    answers,
    audit,
    calibrations,
    claims,
    compare,
    dashboard,
    desk,
    gate_pages,
    gold_spans,
    guide_pages,
    incident_pages,
    items,
    login,
    monitor_pages,
    own_labels,
    people,
    requests,
    rounds,
    runs,
    security,
    shares,
    sql,
)
from claimwise.app.api import Api, read_request_body
from claimwise.app.pool import StorePool
from claimwise.app.requests import Call, PageRoute, Refusal, Response
from claimwise.config import Project
from claimwise.errors import ClaimwiseError, RefusedError, StoreBusyError, StoreError
from claimwise.labelling import guide
from claimwise.metrics import load_metrics
from claimwise.store import Store
from claimwise.store.files import SqlFolder

PAGES = (
    login,
    dashboard,
    claims,
    answers,
    monitor_pages,
    alarm_pages,
    desk,
    guide_pages,
    own_labels,
    adjudication,
    gold_spans,
    runs,
    items,
    compare,
    gate_pages,
    incident_pages,
    sql,
    agreement,
    calibrations,
    rounds,
    people,
    shares,
    audit,
)

_FORM = "application/x-www-form-urlencoded"
_MOST_FIELDS = 200


def read_clock() -> datetime:
    """Return the time in UTC, without a zone."""
    return datetime.now(UTC).replace(tzinfo=None)


@dataclass(frozen=True, kw_only=True, slots=True)
class Site:
    """What all requests share."""

    pool: StorePool
    project: Project
    hosts: frozenset[str]
    behind_https: bool = False
    proxies: int = 0  # that stand before the app and name the client
    clock: Callable[[], datetime] = read_clock
    api: Api | None = None  # for programs


def list_routes() -> tuple[PageRoute, ...]:
    """Return the routes of all pages."""
    return tuple(route for page in PAGES for route in page.ROUTES)


def build_app(site: Site) -> ASGIApp:
    """Return the application, with all it needs of its own files read."""
    _read_files()
    workers = ThreadPoolExecutor(site.pool.size, thread_name_prefix="claimwise-request")
    routes = [
        Route(page.path, _make_endpoint(site, page, workers), methods=[page.method])
        for page in list_routes()
    ]
    app = Starlette(
        routes=[
            *routes,
            *(site.api.list_routes() if site.api else ()),
            Route("/static/{name}", _make_static(), methods=["GET"]),
        ],
        exception_handlers={HTTPException: _make_error_page(site, workers)},
    )
    app.router.redirect_slashes = False
    return Shield(app, site.hosts)


def _read_files() -> None:
    """Read now what would be read when first used: an upgrade may replace it under the server."""
    requests.load_templates()
    SqlFolder.read_all()
    load_metrics()
    for judgement in desk.VERDICTS:
        guide.read_guide(judgement)


class Shield:
    """Stands before everything: refuses foreign host names, and puts headers on every answer."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str]) -> None:
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                present = {name for name, _ in message["headers"]}
                message["headers"] = [
                    *message["headers"],
                    *(pair for pair in _RAW_HEADERS if pair[0] not in present),
                ]
            await send(message)

        try:
            security.check_host(Request(scope).headers.get("host"), self._hosts)
        except Refusal as refusal:
            _log_refusal(_read_peer(scope), _describe_request(scope), refusal)
            await _to_web(_show_refusal(refusal, as_json=False))(scope, receive, send_guarded)
            return
        await self._app(scope, receive, send_guarded)


_RAW_HEADERS = [(name.encode(), value.encode()) for name, value in security.HEADERS.items()]


def _make_endpoint(
    site: Site, page: PageRoute, workers: ThreadPoolExecutor
) -> Callable[[Request], Awaitable[WebResponse]]:
    async def endpoint(request: Request) -> WebResponse:
        try:
            body = await read_request_body(request, security.BODY_LIMIT)
        except Refusal as refusal:
            _log_refusal(_read_peer(request.scope), _describe_request(request.scope), refusal)
            return _to_web(_show_refusal(refusal, as_json=_wants_json(request)))
        except ClientDisconnect:
            return WebResponse(status_code=400)
        loop = asyncio.get_running_loop()
        return _to_web(await loop.run_in_executor(workers, _answer, site, page, request, body))

    return endpoint


def _answer(site: Site, page: PageRoute, request: Request, body: bytes) -> Response:
    """Answer one request in a worker thread. Whatever happens, it ends in a response."""
    try:
        with site.pool.borrow() as store:
            call, cookie = _read_call(site, request, body, store)
            try:
                response = _answer_call(page, call, request)
            except (Refusal, RefusedError) as error:
                refusal = _to_refusal(error)
                _note_refusal(call, _describe_request(request.scope), refusal)
                response = _show_refusal(refusal, as_json=_wants_json(request), call=call)
        if cookie:  # before the page's own: who logs out must stay so
            response.cookies.insert(0, cookie)
        return response
    except Exception as error:  # noqa: BLE001 - no fault may show its insides to a browser
        refusal = _to_refusal(error)
        if refusal.status >= 500:
            requests.log(f"error: {_describe_request(request.scope)}: {_describe(error)}")
        return _show_refusal(refusal, as_json=_wants_json(request))


def _answer_call(page: PageRoute, call: Call, request: Request) -> Response:
    if not requests.has_role(call.account, page.role):
        if call.account is not None:
            raise Refusal(
                403, f"This page needs the role {page.role}; you are {call.account.role}."
            )
        if _wants_json(request):
            raise Refusal(401, "Log in first.")
        # A form can't be sent by a link: after the login, its sender begins at the start.
        place = _describe_place(request) if request.method in security.SAFE_METHODS else "/"
        return call.redirect(f"/login?next={quote(place)}")
    sent = request.headers.get("x-csrf-token")
    if request.method not in security.SAFE_METHODS:
        security.check_origin(request.headers)
        security.check_csrf(sent or call.form.get("csrf"), call.csrf)
    elif sent is not None:  # someone else's login has overtaken the page that asks
        security.check_csrf(sent, call.csrf)
    return page.handler(call)


def _describe_place(request: Request) -> str:
    """Return where a request leads to, as a link: percent signs and all."""
    place = quote(request.scope["path"])
    return f"{place}?{request.url.query}" if request.url.query else place


def _read_call(site: Site, request: Request, body: bytes, store: Store) -> tuple[Call, str | None]:
    """Return the call, and the cookie to set: a stranger's first, or one that lasts longer."""
    now = site.clock()
    secure = site.behind_https or request.url.scheme == "https"
    cookies = security.read_cookies(request.headers.get("cookie"))
    token = security.read_session_cookie(cookies, secure=secure)
    session = read_session(store, token, now) if token else None
    cookie = None
    if token and session:
        csrf = session.csrf_token
        if session.renewed:
            life = session.expires_at - now
            cookie = security.write_session_cookie(token, secure=secure, life=life)
    else:
        csrf, cookie = security.read_visitor(cookies, secure=secure)
    is_form = request.headers.get("content-type", "").partition(";")[0].strip() == _FORM
    call = Call(
        store=store,
        account=session.account if session else None,
        project=site.project,
        now=now,
        method=request.method,
        url_path=request.scope["path"],  # decoded; the URL's own path is so in part
        path={name: str(value) for name, value in request.path_params.items()},
        query=_read_fields(request.url.query),
        form=_read_fields(body.decode("utf-8", "replace")) if is_form else {},
        body=body,
        csrf=csrf,
        address=security.read_address(
            request.client.host if request.client else None,
            request.headers.getlist("x-forwarded-for"),
            proxies=site.proxies,
        ),
        origin=security.write_origin(request.headers.get("host", ""), secure=secure),
        device=security.read_device_cookie(cookies, secure=secure),
        session_token=token if session else None,
        secure=secure,
        borrow=site.pool.borrow,
    )
    if any("\0" in text for text in _list_texts(call)):
        raise Refusal(400, "This request holds a null character; remove it.")
    return call, cookie


def _read_fields(text: str) -> dict[str, str]:
    """Return the fields of a form or a query; of a name given twice, the first."""
    try:
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError as error:
        raise Refusal(400, f"This request has more than {_MOST_FIELDS} fields.") from error
    return dict(reversed(pairs))


def _list_texts(call: Call) -> Iterable[str]:
    yield call.url_path
    for found in (call.path, call.query, call.form):
        yield from found
        yield from found.values()


# Refusals and errors


def _wants_json(request: Request) -> bool:
    return (
        request.url.path.startswith("/api/")
        or request.headers.get("content-type", "").startswith("application/json")
        or request.headers.get("accept", "").startswith("application/json")
    )


def _to_refusal(error: Exception) -> Refusal:
    """Return what a person is told of an error; faults of ours say nothing of our insides."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, RefusedError):
        return Refusal(409, _as_sentence(str(error)))
    if isinstance(error, StoreBusyError):
        return Refusal(
            503,
            "Someone else has been writing to the store for a while; nothing was changed, try "
            "again in a moment.",
            {"retry-after": "5"},
        )
    if isinstance(error, StoreError):
        return Refusal(
            503,
            "The store can't be used right now; the server's log says why.",
            {"retry-after": "5"},
        )
    if isinstance(error, ClaimwiseError):
        return Refusal(400, _as_sentence(str(error)))
    return Refusal(500, "This is a fault in claimwise; the server's log has a line about it.")


def _note_refusal(call: Call, what: str, refusal: Refusal) -> None:
    """Log what was refused, and record it when it was someone who is logged in."""
    _log_refusal(call.account.account if call.account else call.address, what, refusal)
    if call.account is None or refusal.status == 404:  # strangers can't fill the store
        return
    add_event(
        call.store,
        "refused",
        account=call.account.account,
        subject=what,
        detail=f"{refusal.status} {refusal.message}",
        now=call.now,
    )


def _log_refusal(who: str, what: str, refusal: Refusal) -> None:
    requests.log(f"refused {who}: {what}: {refusal.status} {refusal.message}")


def _describe_request(scope: Scope) -> str:
    """Return method and path for a log; a link that lets someone in is not written down."""
    path = scope["path"]
    for start in ("/invite/", "/setup/", "/share/"):
        if path.startswith(start):
            path = f"{start}…"
    return f"{scope['method']} {path}"


def _read_peer(scope: Scope) -> str:
    """Return the address at the other end, before anything else of a request is believed."""
    return scope["client"][0] if scope.get("client") else "unknown"


def _show_refusal(refusal: Refusal, *, as_json: bool, call: Call | None = None) -> Response:
    if as_json:
        body = requests.encode_json({"error": refusal.message})
        response = Response(body=body, status=refusal.status, media_type="application/json")
    else:
        values = {"status": refusal.status, "message": refusal.message}
        response = requests.render_page("error.html", call, **values)
        response.status = refusal.status
    response.headers.update(refusal.headers)
    return response


def _make_error_page(
    site: Site, workers: ThreadPoolExecutor
) -> Callable[[Request, Exception], Awaitable[WebResponse]]:
    """Return what answers when routing refuses: unknown paths and wrong methods.

    Who is logged in keeps the menu on such a page; nobody else's request reaches the store.
    """
    messages = {404: "There is no such page.", 405: "This page can't be used in that way."}

    async def answer(request: Request, error: Exception) -> WebResponse:
        status = error.status_code if isinstance(error, HTTPException) else 500
        headers = getattr(error, "headers", None)
        refusal = Refusal(status, messages.get(status, "This request can't be answered."), headers)
        as_json = _wants_json(request)
        if as_json or "cookie" not in request.headers:
            return _to_web(_show_refusal(refusal, as_json=as_json))
        loop = asyncio.get_running_loop()
        return _to_web(await loop.run_in_executor(workers, _refuse, site, request, refusal))

    return answer


def _refuse(site: Site, request: Request, refusal: Refusal) -> Response:
    """Show a refusal to whoever asks; without the menu where the store can't say who that is."""
    try:
        with site.pool.borrow() as store:
            call, _ = _read_call(site, request, b"", store)
            return _show_refusal(refusal, as_json=False, call=call)
    except Exception:  # noqa: BLE001 - the page was refused already, and can be shown without
        return _show_refusal(refusal, as_json=False)


def _as_sentence(text: str) -> str:
    line = " ".join(text.split("\n"))
    return line[:1].upper() + line[1:] + ("" if line.endswith((".", "!", "?")) else ".")


def _describe(error: Exception) -> str:
    """Return an error and its place as one line."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({os.path.basename(frames[-1].filename)}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{place}"


# Answers


def _to_web(response: Response) -> WebResponse:
    found = (
        WebResponse(response.body, response.status, media_type=None)
        if response.chunks is None
        else StreamingResponse(response.chunks, response.status, media_type=None)
    )
    found.headers["content-type"] = response.media_type
    found.headers.update(response.headers)
    for cookie in response.cookies:
        found.headers.append("set-cookie", cookie)
    return found


def _make_static() -> Callable[[Request], Awaitable[WebResponse]]:
    """Return what answers with the files of ``static``: a list by name, so no path leads out."""
    kept = {
        path.name: path.read_bytes()
        for path in files("claimwise.app").joinpath("static").iterdir()
        if path.is_file()
    }
    tags = {name: f'"{hashlib.sha256(data).hexdigest()[:32]}"' for name, data in kept.items()}

    async def endpoint(request: Request) -> WebResponse:
        name = request.path_params["name"]
        if name not in kept:
            raise HTTPException(404)
        # Asked for every time, sent when it has changed: an upgrade never meets old scripts.
        headers = {"etag": tags[name], "cache-control": "no-cache"}
        if request.headers.get("if-none-match") == tags[name]:
            return WebResponse(status_code=304, headers=headers)
        kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        return WebResponse(kept[name], headers=headers, media_type=kind)

    return endpoint
