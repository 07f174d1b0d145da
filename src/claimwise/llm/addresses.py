"""Reads the address of a server as an origin: its scheme, its host and its port."""

from __future__ import annotations

import re
from ipaddress import IPv6Address, ip_address
from urllib.parse import urlsplit

_PORTS = {"http": 80, "https": 443}
_HOST = re.compile(r"(?=.{1,253}\Z)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*\.?")


def read_origin(url: str) -> str:
    """Return the origin of an address: ``https://models.example.com``, ``http://127.0.0.1:8000``.

    Two addresses with the same origin reach the same server. Names beyond ASCII are refused:
    libraries don't agree on how to spell them, and many look like another one.

    Raises:
        ValueError: it is no http or https address, or its host or port can't be one.
    """
    if not url.isascii() or not url.isprintable():
        raise ValueError("expected printable ASCII characters")
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port
    if parts.scheme not in _PORTS:
        raise ValueError("expected http:// or https://")
    if "[" in parts.netloc:
        shown = f"[{IPv6Address(host)}]"
    elif _HOST.fullmatch(host):
        shown = host
    else:
        raise ValueError("expected the name or the address of a host")
    usual = port is None or port == _PORTS[parts.scheme]
    return f"{parts.scheme}://{shown}" + ("" if usual else f":{port}")


def is_loopback_origin(origin: str) -> bool:
    """Return whether an origin is on this very machine."""
    host = urlsplit(origin).hostname or ""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
