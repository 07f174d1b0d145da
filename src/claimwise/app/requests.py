"""What a page of the app is given, and what it gives back.

A page module exports ``ROUTES``. A handler is a plain function from a :class:`Call` to a
:class:`Response`, run in a worker thread with a store of its own. Nothing here needs the web
server's packages, so commands may read a page module's data without the extra.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import quote

import msgspec
from markupsafe import Markup, escape

from claimwise.accounts.queries import add_event
from claimwise.accounts.values import Account, Role
from claimwise.app.gate_words import give_reason, name_gate
from claimwise.app.links import (
    link_answer,
    link_answer_of,
    link_claim,
    link_claims,
    link_group,
    link_items,
)
from claimwise.app.navigation import build_menu
from claimwise.app.rate_links import (
    choose_verdict,
    link_headline,
    link_row,
    link_row_items,
    link_unscored,
)
from claimwise.config import Project
from claimwise.errors import make_printable
from claimwise.report.format import show_percent, show_percent_range
from claimwise.store import Store

if TYPE_CHECKING:
    from jinja2 import Environment

T = TypeVar("T")
Borrow = Callable[[], AbstractContextManager[Store]]

_URL_SIGNS = "/?#%&=+:;,@!$'()*~[]"  # what a written link may hold besides letters
_BACKTICKS = re.compile(r"`([^`]+)`")
_LONGEST_LINE = 2000  # of the log
_RANKS: dict[Role, int] = {"labeler": 0, "adjudicator": 1, "admin": 2}


class Refusal(Exception):
    """A request that is turned down. The message is one line for the person who asked."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = dict(headers or {})


@dataclass(kw_only=True, slots=True)
class Response:
    """An answer to a request."""

    body: bytes
    status: int = 200
    media_type: str = "text/html; charset=utf-8"
    headers: dict[str, str] = field(default_factory=dict)
    cookies: list[str] = field(default_factory=list)  # whole Set-Cookie values
    # A long answer in parts, made in worker threads while it is read; instead of the body.
    chunks: Iterator[bytes] | None = None


def has_role(account: Account | None, role: Role | None) -> bool:
    """Return whether an account may do what a role may; None is open to everyone."""
    if role is None:
        return True
    return account is not None and _RANKS[account.role] >= _RANKS[role]


@dataclass(kw_only=True, slots=True)
class Call:
    """One request, handed to a handler in a worker thread."""

    store: Store
    account: Account | None
    project: Project
    now: datetime
    method: str = "GET"
    url_path: str = "/"
    path: dict[str, str] = field(default_factory=dict)
    query: dict[str, str] = field(default_factory=dict)
    form: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    csrf: str = ""
    address: str = ""
    origin: str = ""  # scheme and host as the browser sees them, to write whole links
    device: str = ""  # the cookie of a browser that an account has logged in with
    session_token: str | None = None
    secure: bool = False
    borrow: Borrow | None = None  # lends further connections, for work beside the request

    @property
    def name(self) -> str:
        """The account's name; pages with a role always have one."""
        if self.account is None:
            raise Refusal(401, "Log in first.")
        return self.account.account

    def allows(self, role: Role) -> bool:
        """Return whether whoever asks may do what a role may."""
        return has_role(self.account, role)

    def render(self, template: str, *, status: int = 200, **values: Any) -> Response:
        """Fill a template; it also gets ``account``, ``csrf``, ``path`` and ``menu``."""
        response = render_page(template, self, **values)
        response.status = status
        return response

    def read_json(self, kind: type[T]) -> T:
        """Decode the body strictly.

        Raises:
            Refusal: it is no JSON, has another shape, or holds a character that no text has.
        """
        try:
            found = msgspec.json.decode(self.body, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise Refusal(400, f"This request can't be read: {error}.") from error
        if b"\\u0000" in self.body and _holds_null(msgspec.to_builtins(found)):
            raise Refusal(400, "This request holds a null character; remove it.")
        return found

    def json(self, value: object, status: int = 200) -> Response:
        """Answer with JSON."""
        return Response(body=encode_json(value), status=status, media_type="application/json")

    def redirect(self, to: str) -> Response:
        """Send the browser on to a page of ours."""
        if not is_local(to):
            raise Refusal(400, "This link leads out of the app.")
        return Response(body=b"", status=303, headers={"location": quote(to, safe=_URL_SIGNS)})

    def audit(self, event: str, subject: str | None = None, detail: str | None = None) -> None:
        """Record what someone did. Inside ``store.write()`` it is part of that transaction."""
        name = self.account.account if self.account else None
        add_event(self.store, event, account=name, subject=subject, detail=detail, now=self.now)


class PageRoute(NamedTuple):
    """A page or a request of the app, and who may use it: None is open to everyone."""

    method: str
    path: str
    handler: Callable[[Call], Response]
    role: Role | None


def is_local(to: str) -> bool:
    """Return whether a link stays in the app: two slashes of whatever kind lead out."""
    return to.startswith("/") and to[1:2] not in ("/", "\\") and to.isprintable()


def render_page(template: str, call: Call | None, **values: Any) -> Response:
    """Fill a template, for a call or for nobody in particular."""
    account, path = (call.account, call.url_path) if call else (None, "")
    text = (
        load_templates()
        .get_template(template)
        .render(
            account=account,
            csrf=call.csrf if call else "",
            path=path,
            menu=build_menu(path, lambda role: has_role(account, role)) if account else None,
            **values,
        )
    )
    return Response(body=text.encode())


def encode_json(value: object) -> bytes:
    """Write JSON that is harmless inside a page's ``<script>`` too."""
    return msgspec.json.encode(value).replace(b"<", b"\\u003c")


@cache
def load_templates() -> Environment:
    """Return the templates of all pages; everything is escaped, nothing undefined is silent.

    They are read together: a server whose files are replaced under it goes on with its own.
    """
    from jinja2 import DictLoader, Environment, StrictUndefined

    folder = files("claimwise.app").joinpath("templates")
    texts = {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}

    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=DictLoader(texts),
    )
    environment.filters["moment"] = show_moment
    environment.filters["pace"] = show_pace
    environment.filters["code"] = show_code
    environment.filters["capitalize_first"] = _capitalize_first
    environment.globals.update(
        choose_verdict=choose_verdict,
        give_reason=give_reason,
        link_answer=link_answer,
        link_answer_of=link_answer_of,
        link_claim=link_claim,
        link_claims=link_claims,
        link_group=link_group,
        link_headline=link_headline,
        link_items=link_items,
        link_row=link_row,
        link_row_items=link_row_items,
        link_unscored=link_unscored,
        name_gate=name_gate,
        percent=show_percent,
        percent_range=show_percent_range,
    )
    return environment


def _capitalize_first(text: str) -> str:
    """Begin a sentence with a capital, unless with a judge's name, which is written as it is."""
    return text if ":" in text.partition(" ")[0][:-1] else text[:1].upper() + text[1:]


def show_moment(moment: datetime | None) -> str:
    """Return a time to the minute, in UTC."""
    return "—" if moment is None else f"{moment:%Y-%m-%d %H:%M}"


def show_pace(seconds: float) -> str:
    """Return how long a claim took: ``12 s per claim``, never 0."""
    if seconds < 100:
        return f"{max(1, round(seconds))} s per claim"
    return f"{round(seconds / 60)} min per claim"


def show_code(text: str) -> Markup:
    """Return a text as markup, with what stands between backticks as code."""
    return Markup(_BACKTICKS.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704 - escaped


def log(line: str) -> None:
    """Write one harmless line to standard error; one that goes on and on is cut."""
    sys.stderr.write(make_printable(line[:_LONGEST_LINE]) + "\n")


def _holds_null(value: Any) -> bool:
    if isinstance(value, str):
        return "\0" in value
    if isinstance(value, dict):
        return any(_holds_null(one) for pair in value.items() for one in pair)
    return isinstance(value, list) and any(map(_holds_null, value))
