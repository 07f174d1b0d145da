"""``claimwise serve``."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from claimwise.app.server import ServeOptions, serve_app
from claimwise.command.options import current_project, store_option
from claimwise.config import Project
from claimwise.errors import make_printable

_OPTIONS = (
    click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on."),
    click.option(
        "--port",
        type=click.IntRange(0, 65535),
        metavar="PORT",
        default=8700,
        show_default=True,
        help="Port to listen on; 0 picks a free one.",
    ),
    click.option(
        "--host-name",
        "host_names",
        metavar="NAME",
        multiple=True,
        help="Host name that browsers may use besides localhost; may be repeated.",
    ),
    click.option(
        "--behind-https",
        is_flag=True,
        help="A proxy in front handles HTTPS: send cookies over HTTPS only, and read the "
        "client's address from X-Forwarded-For (see --proxies).",
    ),
    click.option(
        "--proxies",
        metavar="N",
        type=click.IntRange(0, 9),
        show_default="1 with --behind-https, else 0",
        help="Number of your own proxies in front; the Nth address from the right in "
        "X-Forwarded-For is trusted.",
    ),
)


def serve_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options that say where the app is served; they arrive as ``options``."""

    @wraps(function)
    def gather(
        host: str,
        port: int,
        host_names: tuple[str, ...],
        behind_https: bool,
        proxies: int | None,
        **arguments: Any,
    ) -> None:
        chosen = ServeOptions(
            host=host,
            port=port,
            host_names=host_names,
            behind_https=behind_https,
            proxies=proxies,
        )
        function(options=chosen, **arguments)

    for option in reversed(_OPTIONS):
        gather = option(gather)
    return gather


@click.command("serve", short_help="Start the app: labelling, dashboards, accounts.")
@serve_options
@store_option
def command(options: ServeOptions, store: str | None) -> None:
    """Start the app in the browser; Ctrl-C stops it.

    On first start it prints a link that creates the admin account; the admin invites everyone
    else. Only this machine can reach it unless you set --host.
    """
    project = current_project()
    serve_app(project, locate_store(project, store), options, say)


def locate_store(project: Project, store: str | None) -> str:
    """Return the path or URL of the store that an option names, or the project's."""
    return store or click.get_current_context().find_root().obj or project.store_place


def say(line: str) -> None:
    """Print a line about the server to standard error, at once."""
    click.echo(make_printable(line), err=True)
