"""``claimwise plugins``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from claimwise.cli.verifiers import show_bytes
from claimwise.command.options import format_option, print_json, print_table
from claimwise.errors import make_printable
from claimwise.llm.providers import load_provider_plugin
from claimwise.metrics import load_metrics
from claimwise.metrics.catalogue import list_package_metrics, load_metrics_plugin
from claimwise.registry import (
    GROUPS,
    Entry,
    Group,
    Listing,
    Plugin,
    describe_entry,
    list_entries,
    load_plugin,
)


def _load_checked_metrics(entry: Entry) -> Plugin[Any]:
    """Return a package of metrics whose files have been read: a wrong one is no metric."""
    list_package_metrics(entry)
    return load_metrics_plugin(entry)


_LOADERS: dict[Group, Callable[[Entry], Plugin[Any]]] = {
    "judges": load_plugin,
    "readers": load_plugin,
    "providers": load_provider_plugin,
    "metrics": _load_checked_metrics,
}


@click.command("plugins", short_help="List judges, readers, providers and metrics.")
@format_option("text", "json")
def command(form: str) -> None:
    """List judges, readers, providers and metrics, built in or from installed packages.

    Judges are for --judge and --verifier, readers for --reader, providers for --judge
    PROVIDER:MODEL, metrics for --metric. If one can't run here, you see what is missing. A
    package that doesn't work is listed with the reason, and everything else keeps working.
    docs/plugins.md explains how to write one.
    """
    listings = [
        describe_entry(entry, _LOADERS[group]) for group in GROUPS for entry in list_entries(group)
    ]
    if form == "json":
        print_json({"plugins": [_to_document(one) for one in listings]})
        return
    for group in GROUPS:
        _print_group(group, [one for one in listings if one.entry.group == group])


def _to_document(one: Listing) -> dict[str, Any]:
    entry = one.entry
    return {
        "group": entry.group,
        "name": entry.name,
        "package": entry.package,
        "version": entry.version,
        "built_in": entry.built_in,
        "description": one.description,
        "available": one.missing is None,
        "missing": one.missing,
        "bytes": one.size,
        "card": one.card or None,
        "brings": _list_metrics(entry) if entry.group == "metrics" else None,
    }


def _list_metrics(entry: Entry) -> list[str]:
    owner = None if entry.built_in else entry.origin
    return [metric.name for metric in load_metrics().values() if metric.package == owner]


def _describe(one: Listing) -> str | None:
    """Say what a plug-in is, how large, and where it is told how good it is."""
    told = [one.description, show_bytes(one.size) if one.size else "", one.card]
    return "; ".join(filter(None, told)) or None


def _print_group(group: Group, listings: list[Listing]) -> None:
    click.echo(f"{group.capitalize()}\n")
    print_table(
        ("name", "from", "available", "what it is"),
        [
            (
                one.entry.name,
                "claimwise" if one.entry.built_in else one.entry.origin,
                "yes" if one.missing is None else "no",
                _describe(one),
            )
            for one in listings
        ],
    )
    for one in listings:
        if one.missing is not None:
            click.echo(f"  {make_printable(f'{one.entry.name}: {one.missing}')}")
        if group == "metrics":
            click.echo(f"  {one.entry.name}: {', '.join(_list_metrics(one.entry)) or 'none'}")
    click.echo()
