"""Who may ask, and from where: hosts, origins, form tokens, cookies and headers."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from http.cookies import CookieError, SimpleCookie
from urllib.parse import urlsplit

from claimwise.accounts.queries import SESSION_LIFE
from claimwise.app.requests import Refusal

BODY_LIMIT = 256 * 1024
SAFE_METHODS = frozenset({"GET", "HEAD"})
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_WILDCARDS = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - compared with, not bound to

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    # “no-referrer” would make browsers send “Origin: null” with our own forms.
    "referrer-policy": "same-origin",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}

_SESSION = "claimwise_session"
_VISITOR = "claimwise_visitor"
_DEVICE = "claimwise_device"
_DEVICE_LIFE = timedelta(days=180)

_HOST = re.compile(r"(?P<name>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::(?P<port>[0-9]{1,5}))?")
_WITH_PORT = re.compile(r"\[(?P<v6>[^\]]*)\](?::\d+)?|(?P<v4>[\d.]+):\d+")


def list_hosts(bound: str, names: Iterable[str]) -> frozenset[str]:
    """Return the host names that the app answers to.

    A page elsewhere whose name is made to lead here (DNS rebinding) comes with its own name, and
    so is refused.
    """
    own = set() if bound in _WILDCARDS else {bound.lower()}
    return LOOPBACK | own | {name.lower() for name in names}


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach a bound address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def check_host(header: str | None, allowed: frozenset[str]) -> None:
    """Refuse a request for another host's name."""
    if _split_host(header or "")[0] not in allowed:
        raise Refusal(
            421, "This server does not answer to that name; start it with --host-name NAME."
        )


def write_origin(header: str, *, secure: bool) -> str:
    """Return scheme, name and port of a request's host, to begin links with.

    They are put together from what :func:`check_host` let pass, not copied.
    """
    name, port = _split_host(header)
    shown = f"[{name}]" if ":" in name else name
    return f"{'https' if secure else 'http'}://{shown}" + (f":{port}" if port else "")


def check_origin(headers: Mapping[str, str]) -> None:
    """Refuse a form or a request that another site's page sent."""
    site = headers.get("sec-fetch-site")
    if site is not None and site not in ("same-origin", "none"):
        raise Refusal(403, "This request came from another site; nothing was changed.")
    origin = headers.get("origin")
    if origin is None:
        return
    parts = urlsplit(origin)
    default = 443 if parts.scheme == "https" else 80
    if _split_host(parts.netloc, default) != _split_host(headers.get("host", ""), default):
        raise Refusal(403, "This request came from another site; nothing was changed.")


def check_csrf(given: str | None, wanted: str) -> None:
    """Refuse a form without the session's token."""
    if not wanted or not hmac.compare_digest((given or "").encode(), wanted.encode()):
        raise Refusal(403, "This form is out of date; load the page again and repeat it.")


def read_address(client: str | None, forwarded: Sequence[str], *, proxies: int) -> str:
    """Return the address that failures are counted for.

    Each proxy adds the address it saw to the end of ``X-Forwarded-For``; what stands before those
    is the client's own claim. So of all lines together, the entry that many from the right
    counts; when there are fewer, or it is no address, the other end of the connection. Of IPv6,
    the network: one person has all of its addresses.

    Args:
        client: the other end of the connection.
        forwarded: the lines of ``X-Forwarded-For``.
        proxies: how many proxies of ours stand before the app.
    """
    hops = ",".join(forwarded).split(",") if forwarded else []
    named = _parse_address(hops[-proxies]) if 0 < proxies <= len(hops) else None
    address = named or _parse_address(client or "")
    if address is None:
        return "unknown"
    if address.version == 6:
        return str(ipaddress.IPv6Network((int(address), 64), strict=False))
    return str(address)


def _parse_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Read an address, with or without a port; IPv4 written as IPv6 is IPv4."""
    found = _WITH_PORT.fullmatch(text.strip())
    bare = (found["v6"] or found["v4"]) if found else text.strip()
    try:
        address = ipaddress.ip_address(bare)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


# Cookies


def read_cookies(header: str | None) -> dict[str, str]:
    """Return the cookies of a request; none when the header makes no sense."""
    try:
        return {name: morsel.value for name, morsel in SimpleCookie(header or "").items()}
    except CookieError:
        return {}


def read_session_cookie(cookies: Mapping[str, str], *, secure: bool) -> str | None:
    """Return the session's token, if the browser has one."""
    return cookies.get(_name_cookie(_SESSION, secure=secure))


def write_session_cookie(token: str, *, secure: bool, life: timedelta = SESSION_LIFE) -> str:
    """Return the header value that gives the browser a session, or more time with it."""
    seconds = int(life.total_seconds())
    return _write_cookie(_SESSION, token, f"Max-Age={seconds}; SameSite=Lax", secure=secure)


def drop_session_cookie(*, secure: bool) -> str:
    """Return the header value that takes the session away."""
    return _write_cookie(_SESSION, "", "Max-Age=0; SameSite=Lax", secure=secure)


def read_device_cookie(cookies: Mapping[str, str], *, secure: bool) -> str:
    """Return what says that an account has logged in with this browser before."""
    return cookies.get(_name_cookie(_DEVICE, secure=secure), "")


def write_device_cookie(value: str, *, secure: bool) -> str:
    """Return the header value that lets the browser be known again."""
    seconds = int(_DEVICE_LIFE.total_seconds())
    return _write_cookie(_DEVICE, value, f"Max-Age={seconds}; SameSite=Strict", secure=secure)


def read_visitor(cookies: Mapping[str, str], *, secure: bool) -> tuple[str, str | None]:
    """Return the form token of someone not logged in, and the cookie to set, if any.

    The token is a hash of a random cookie: another site's page can read neither.
    """
    kept = cookies.get(_name_cookie(_VISITOR, secure=secure))
    fresh = None
    if not kept:
        kept = secrets.token_urlsafe(32)
        fresh = _write_cookie(_VISITOR, kept, "SameSite=Strict", secure=secure)
    return hashlib.sha256(f"form {kept}".encode()).hexdigest(), fresh


def _write_cookie(name: str, value: str, rest: str, *, secure: bool) -> str:
    end = "; Secure" if secure else ""
    return f"{_name_cookie(name, secure=secure)}={value}; Path=/; HttpOnly; {rest}{end}"


def _name_cookie(name: str, *, secure: bool) -> str:
    # Browsers take a cookie of this name from us alone, not from a neighbouring subdomain.
    return f"__Host-{name}" if secure else name


def _split_host(text: str, default: int | None = None) -> tuple[str, int | None]:
    """Return name and port of a host; no name when it is anything but these two."""
    found = _HOST.fullmatch(text)
    port = int(found["port"] or 0) if found else 0
    if not found or port > 65535:
        return "", None
    return found["name"].strip("[]").lower(), port or default
