"""What commands with an LLM judge share: options, the client, and the plan.

``@judge_options(required=True)`` gives a command the argument ``judging``. Inside ``with
open_judge_client(judging, project, store) as client`` it either prints its plan, with
``print_plan(plan_calls(calls, client), form)`` for ``--dry-run``, or works, and tells
``cli.progress.show_progress`` how far it is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, fields, replace
from functools import partial, wraps
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from claimwise.command.options import NumberRange, add_options, open_project_store, print_json
from claimwise.config import FILE_NAME, Project
from claimwise.errors import ClaimwiseError, ConfigError, NotAStoreError, make_printable
from claimwise.types.llm import LlmCall, Tally
from claimwise.user_settings import allow_host, is_host_allowed

if TYPE_CHECKING:
    from claimwise.llm.batch_client import BatchClient
    from claimwise.llm.client import LlmClient
    from claimwise.llm.providers import Destination
    from claimwise.store.replies import StoredReplies


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeOptions:
    """What the command line says of the judge; None where it says nothing."""

    judge: str | None  # "openai:gpt-4o"
    prompt: str | None  # "closed-book@1", or the path of a file; None: the command's own
    repeats: int
    fresh: bool  # ask, although there is a kept reply
    dry_run: bool
    max_cost: float | None  # US$
    price: str | None  # US$ per million tokens: "IN,OUT"
    timeout: float | None  # seconds for one call
    concurrency: int | None
    allow_host: tuple[str, ...]  # origins that claimwise.toml may send to
    batch_api: bool = False  # ask in the provider's batches
    no_wait: bool = False  # leave them under way
    # The judge whose own prompt the model is asked with: "lynx" in lynx:vllm:MODEL; None: ours.
    served: str | None = None

    @property
    def prompt_place(self) -> str | Path | None:
        """The prompt to load: a file when there is one of that name, else a built-in name."""
        if self.prompt is None:
            return None
        path = Path(self.prompt)
        return path if path.suffix and path.exists() else self.prompt


_USUAL = {
    "repeats": 1, "fresh": False, "dry_run": False, "allow_host": (),
    "batch_api": False, "no_wait": False, "served": None,
}  # fmt: skip
_REPEATS = click.option(
    "--repeats",
    type=click.IntRange(1),
    default=1,
    metavar="N",
    help="Ask N times and show what changes; the first reply decides.",
)


def _read_hosts(
    ctx: click.Context, param: click.Parameter, given: tuple[str, ...]
) -> tuple[str, ...]:
    """Return addresses as origins; one without a scheme is an https address."""
    from claimwise.llm.addresses import read_origin

    try:
        return tuple(read_origin(one if "://" in one else f"https://{one}") for one in given)
    except ValueError as error:
        raise click.BadParameter(f"{error}, such as https://models.example.com") from error


# What is sent, and what it may take.
_SENDING = (
    click.option("--fresh", is_flag=True, help="Ignore and overwrite cached replies."),
    click.option(
        "--dry-run", is_flag=True, help="Show calls, tokens and cost without sending anything."
    ),
    click.option(
        "--max-cost",
        type=NumberRange(0, min_open=True),
        metavar="USD",
        help="Total budget; stops before exceeding it.",
    ),
    click.option(
        "--price", metavar="IN,OUT", help="US$ per million tokens in and out, such as 2.5,10."
    ),
    click.option(
        "--timeout",
        type=NumberRange(0, 86_400, min_open=True),
        metavar="SECONDS",
        help="Time limit for one call, from first to last byte.",
    ),
    click.option("--concurrency", type=click.IntRange(1), metavar="N", help="Most calls at once."),
    click.option(
        "--allow-host",
        multiple=True,
        metavar="HOST",
        callback=_read_hosts,
        help="Let claimwise.toml send prompts and your key to this host.",
    ),
)


_BATCHES = (
    click.option(
        "--batch-api",
        is_flag=True,
        help="Use the provider's batch API: about half the price, but it can take a day.",
    ),
    click.option(
        "--no-wait",
        is_flag=True,
        help="With --batch-api: submit and exit; the same command later collects the results.",
    ),
)


def judge_options(
    *, required: bool, repeats: bool = True, dry_run: bool = True, batches: bool = False
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds the options of a judge; they arrive as ``judging``.

    Where the judge is optional, options that need one are refused without it, and the name of a
    judge without a language model is taken as ``--verifier`` takes it. ``repeats``, ``dry_run``
    and ``batches`` say whether the command has these options, in the sense that judges give them.
    """
    options = (
        click.option(
            "--judge",
            metavar="PROVIDER:MODEL",
            required=required,
            help="Language model to use as the judge"
            + ("." if required else ", or another judge by name, such as nli:FOLDER."),
        ),
        click.option(
            "--prompt", metavar="NAME|FILE", help="Prompt to use instead of the built-in one."
        ),
        *((_REPEATS,) if repeats else ()),
        *(_SENDING if dry_run else _SENDING[:1] + _SENDING[2:]),
        *(_BATCHES if batches else ()),
    )

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @wraps(function)
        def gather(**arguments: Any) -> None:
            names = [field.name for field in fields(JudgeOptions)]
            given = {**_USUAL, **arguments}
            judging = JudgeOptions(**{name: given[name] for name in names})
            rest = {name: value for name, value in arguments.items() if name not in names}
            if not required and judging.judge is not None and "verifier" in rest:
                judging, rest = _take_named_judge(judging, judging.judge, rest)
            if judging.judge is None:
                _refuse_without_judge(judging)
            if judging.no_wait and not judging.batch_api:
                raise click.UsageError("--no-wait needs --batch-api: only batches can be left")
            refuse_with_served(judging, ["prompt"] if judging.prompt else [])
            function(judging=judging, **rest)

        for option in reversed(options):
            gather = option(gather)
        return gather

    return decorate


def _take_named_judge(
    judging: JudgeOptions, judge: str, rest: dict[str, Any]
) -> tuple[JudgeOptions, dict[str, Any]]:
    """Read ``--judge NAME`` and ``NAME:MODEL`` as ``--verifier``, where NAME is a judge's.

    A judge that asks a server is named ``NAME:PROVIDER:MODEL``: the rest is the language model's.
    """
    from claimwise.judges.judge import read_judge_name

    named = read_judge_name(judge)
    if named.offline is None:
        return replace(judging, judge=named.model, served=named.served), rest
    if rest["verifier"] != "auto":
        raise click.UsageError("found --verifier and --judge, expected one of them")
    return replace(judging, judge=None), {**rest, "verifier": named.offline}


def refuse_with_served(judging: JudgeOptions, options: Collection[str]) -> None:
    """Refuse options that change how a model is asked, where the judge has a way of its own."""
    if judging.served is not None and options:
        option = min(options).replace("_", "-")
        raise click.UsageError(
            f"--{option} does not go with “{judging.served}”: it asks its model in a way of its own"
        )


def _refuse_without_judge(judging: JudgeOptions) -> None:
    given = asdict(judging)
    for name, value in given.items():
        if value != _USUAL.get(name):
            option = f"--{name.replace('_', '-')}"
            raise click.UsageError(f"{option} needs a language model: name one with --judge")


@contextmanager
def open_judge_client(
    judging: JudgeOptions, project: Project, store: str | None
) -> Iterator[LlmClient]:
    """Open the client of the judge. Replies are kept in the store, over a connection of their own.

    Without a store, as when one answer is judged outside of any project, nothing is kept.

    Args:
        judging: the options.
        project: the project, for its ``[llm]`` and its store.
        store: the option ``--store``.

    Raises:
        ClaimwiseError: the provider is unknown, its key is missing, the user has not allowed the
            host, or a ceiling was set without a price.
    """
    from claimwise.llm.client import open_client, stop_on_interrupt
    from claimwise.llm.pricing import parse_price

    if judging.judge is None:
        raise click.UsageError("Missing option '--judge'.")
    hosts = _settle_hosts(judging, judging.judge, project)
    with ExitStack() as stack:
        cache = _open_cache(project, store, fresh=judging.fresh)
        if cache is not None:
            stack.enter_context(cache)
        client = open_client(
            judging.judge,
            section=project.config.llm,
            cache=cache,
            price=None if judging.price is None else parse_price(judging.price),
            max_cost=judging.max_cost,
            concurrency=judging.concurrency,
            timeout=judging.timeout,
            allowed_hosts=hosts,
            sending=not judging.dry_run,
            make=_choose_client(judging, project, store, cache),
        )
        stack.enter_context(client)
        stack.enter_context(stop_on_interrupt(client))
        stack.enter_context(_describe_left_batches(client))
        yield client


def _choose_client(
    judging: JudgeOptions, project: Project, store: str | None, cache: StoredReplies | None
) -> Callable[..., LlmClient]:
    """Return what makes the client: one that asks call by call, or in batches.

    Raises:
        UsageError: there is no store for the replies of batches, and paid ones would be lost.
    """
    from claimwise.llm.batch_client import BatchClient
    from claimwise.llm.client import LlmClient

    if not judging.batch_api:
        return LlmClient
    if cache is None:
        raise click.UsageError(
            "--batch-api keeps replies in a store, and there is none here: run `claimwise init`, "
            "or name one with --store"
        )
    place = find_reply_place(project, store)
    return partial(
        BatchClient,
        folder=find_batch_folder(place, project),
        wait=not judging.no_wait,
        tell=lambda line: click.echo(make_printable(line), err=True),
    )


def find_batch_folder(place: str, project: Project) -> Path:
    """Return where batches are remembered: beside a store's file, or in the project's folder."""
    if "://" not in place:
        path = Path(place)
        return path.with_name(f"{path.name}-batches")
    name = sha256(place.encode()).hexdigest()[:16]  # an address may hold a password
    return project.folder / ".claimwise-batches" / name


@contextmanager
def _describe_left_batches(client: LlmClient) -> Iterator[None]:
    """After Ctrl-C, say which batches stay where they are: they are paid for."""
    try:
        yield
    except KeyboardInterrupt:
        batches = find_batches(client)
        left = None if batches is None else batches.describe_left()
        if left:
            click.echo(make_printable(left), err=True)
        raise


def find_batches(client: LlmClient) -> BatchClient | None:
    """Return a client as one that asks in batches; None where it asks call by call."""
    from claimwise.llm.batch_client import BatchClient

    return client if isinstance(client, BatchClient) else None


def _settle_hosts(judging: JudgeOptions, judge: str, project: Project) -> tuple[str, ...]:
    """Return the hosts that the project's file may send to; in a terminal, ask once.

    Where the address is not the provider's own, it is named on standard error.

    Raises:
        ClaimwiseError: nobody has allowed the host.
    """
    from claimwise.llm.providers import find_destination

    if judging.dry_run:
        return ()
    destination = find_destination(judge, project.config.llm)
    hosts = judging.allow_host
    if not destination.is_allowed(hosts):
        _allow_destination(destination, project)
        hosts = (*hosts, destination.origin)
    if destination.named_by is not None:
        click.echo(
            f"sending {destination}, the address that {destination.named_by} names", err=True
        )
    return hosts


def _allow_destination(destination: Destination, project: Project) -> None:
    """Return when the user has allowed this project a destination, now or before."""
    origin, key = destination.origin, destination.key_variable
    if is_host_allowed(project.folder, origin, key):
        return
    where = make_printable(str(project.folder.resolve() / FILE_NAME))
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise ClaimwiseError(
            f"{where} would send {destination}, which you have not allowed; if you trust this "
            f"host, add --allow-host {origin}, or say yes once in a terminal; nothing was sent"
        )
    question = f"Send {destination}, as {where} says? A yes is kept for this project"
    if not click.confirm(question, default=False, err=True):
        raise ClaimwiseError(f"{origin} is not allowed; nothing was sent")
    try:
        click.echo(f"kept in {allow_host(project.folder, origin, key)}", err=True)
    except ConfigError as error:
        click.echo(f"warning: your answer could not be kept: {error}", err=True)


def _open_cache(project: Project, store: str | None, *, fresh: bool) -> StoredReplies | None:
    from claimwise.store.replies import open_replies

    given = _find_place(store)
    try:
        return open_replies(given or project.store_place, fresh=fresh)
    except NotAStoreError:
        if given:
            raise
        return None


def find_reply_place(project: Project, store: str | None) -> str:
    """Return the store that keeps replies: a URL, or a path that holds wherever one stands."""
    place = str(_find_place(store) or project.store_place)
    return place if "://" in place else str(Path(place).absolute())


def _find_place(store: str | None) -> str | None:
    """Return the store that the command line names, before or after the command."""
    found: str | None = store or click.get_current_context().find_root().obj
    return found


@dataclass(frozen=True, kw_only=True, slots=True)
class CallPlan:
    """What a command would send. Tokens are estimated on the high side; None: price unknown."""

    calls: int
    cached: int  # of these, answered from the cache
    input_tokens: int
    output_tokens: int  # at most
    cost: float | None  # US$, at most
    direct_cost: float | None = None  # with batches: what the same calls would cost one by one


def plan_calls(calls: Iterable[LlmCall], client: LlmClient, *, repeats: int = 1) -> CallPlan:
    """Count what calls would take, the first time from the cache where it has them.

    Repeats are planned as if none were kept. Output is taken at its limit, which replies hardly
    ever reach.
    """
    from claimwise.llm.pricing import cost_tokens, estimate_tokens

    count = cached = given = back = 0
    for call in calls:
        known = client.is_cached(call)
        sent = repeats - known
        count += repeats
        cached += known
        given += sent * estimate_tokens(call)
        back += sent * call.max_tokens
    batches = find_batches(client)
    direct = None if batches is None else batches.direct_price
    return CallPlan(
        calls=count,
        cached=cached,
        input_tokens=given,
        output_tokens=back,
        cost=None if client.price is None else cost_tokens(client.price, given, back),
        direct_cost=None if direct is None else cost_tokens(direct, given, back),
    )


def print_call_plan(plan: CallPlan, form: str, *, note: str = "") -> None:
    """Print what a command would send; nothing has been sent."""
    if form == "json":
        print_json({**asdict(plan), "note": note})
        return
    cost = "unknown (--price IN,OUT)" if plan.cost is None else f"at most US$ {plan.cost:,.4f}"
    free = f"  ({plan.cached:,} of them in the cache: free)" if plan.cached else ""
    click.echo(f"calls           {plan.calls:>12,}{free}")
    click.echo(f"tokens to send  {plan.input_tokens:>12,}  (estimate)")
    click.echo(f"tokens back     {plan.output_tokens:>12,}  (at most)")
    beside = "" if plan.direct_cost is None else f" (one by one: US$ {plan.direct_cost:,.4f})"
    click.echo(f"cost            {cost}{beside}")
    if note:
        click.echo(make_printable(note))
    click.echo("nothing was sent", err=True)


def describe_cost(cost: float | None) -> str:
    """Return a cost in words."""
    return "cost unknown" if cost is None else f"US$ {cost:,.4f}"


def check_replied(tally: Tally) -> None:
    """Fail when not a single call was answered: nothing was judged, whatever is shown."""
    if tally.failed and not tally.replied and not tally.cached:
        codes = ", ".join(f"{code} {count:,}" for code, count in tally.failed.items())
        raise ClaimwiseError(f"No call got a reply ({codes}). Run the command again to retry.")


def find_agreement(project: Project, store: str | None, labeler: str) -> str | None:
    """Return how far a judge agrees with people in the project's store; None: nobody knows."""
    from claimwise.metrics.judge_agreement import measure_agreement

    try:
        with open_project_store(project, store) as opened:
            return measure_agreement(opened, labeler)
    except NotAStoreError:
        return None


def sending_options(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds some of the options that say what is sent, by their names."""
    return add_options(_SENDING, *names)
