"""The command ``claimwise``.

Exit codes: 0 done, 1 could not run (a usage or input error, one line says why), 70 a fault of
claimwise itself. 2 and 3 are a gate's: failed, and inconclusive.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from difflib import get_close_matches
from importlib import import_module
from types import FrameType

import click

from claimwise.cli.commands import COMMANDS, HEADINGS
from claimwise.command.encoding import prepare_streams
from claimwise.errors import BatchesWaitingError, ClaimwiseError, make_printable

USER_ERROR = 1
UNFINISHED = 3
OUR_FAULT = 70
INTERRUPTED = 130

_STANDARD_ERROR = 2
_NO_MEMORY = b"error: out of memory; nothing is half-written. Try again with less text at once.\n"


class LazyGroup(click.Group):
    """The commands of the table: listed from it, and imported only to run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command by its name."""
        if cmd_name not in COMMANDS:
            close = get_close_matches(cmd_name, COMMANDS, n=1)
            advice = f" Did you mean '{close[0]}'?" if close else ""
            raise click.UsageError(f"Unknown command '{cmd_name}'.{advice}", ctx)
        command: click.Command = import_module(COMMANDS[cmd_name].module).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands under their headings, all help texts in one column."""
        width = max(map(len, COMMANDS))
        for heading, entries in HEADINGS.items():
            with formatter.section(heading):
                formatter.write_dl([(f"{n:{width}}", entry.help) for n, entry in entries.items()])


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option("--store", metavar="PATH|URL", help="Store to use, for any command.")
@click.version_option(package_name="claimwise", message="claimwise %(version)s")
@click.pass_context
def cli(ctx: click.Context, store: str | None) -> None:
    """Measure, claim by claim, how often an LLM system makes things up.

    \b
    Check one answer:
      claimwise check --answer answer.txt --source policy.md
    Measure a file of questions, contexts and answers:
      claimwise measure results.jsonl
    Try the example project:
      claimwise demo demo-project
    """
    ctx.obj = store


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    prepare_streams()
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _Interrupts())
    code = run(arguments)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        # All is done: while Python waits for its threads, one more Ctrl-C has nothing to say.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(code)


class _Interrupts:
    """Lets the first Ctrl-C end the command in order, and the second end the process at once.

    Python would raise the second one wherever it is by then, in the midst of closing a store or
    of saying why it ends, and show a traceback. Transactions keep what is stored whole.
    """

    def __init__(self) -> None:
        self._seen = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self._seen:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            signal.raise_signal(signal.SIGINT)
        self._seen = True
        raise KeyboardInterrupt


def run(arguments: list[str] | None = None) -> int:
    """Run the command line; return its exit code."""
    try:
        return _run(arguments)
    except MemoryError:
        # What was in use is in use still: say it with what needs no more.
        os.write(_STANDARD_ERROR, _NO_MEMORY)
        return USER_ERROR


def _run(arguments: list[str] | None) -> int:
    """Run the command line; whatever a command raises but MemoryError becomes an exit code."""
    try:
        code = cli.main(args=arguments, prog_name="claimwise", standalone_mode=False)
    except click.ClickException as error:
        _explain_usage(error)
        return USER_ERROR
    except BatchesWaitingError as error:
        click.echo(make_printable(str(error)), err=True)
        return UNFINISHED
    except ClaimwiseError as error:
        _complain(str(error))
        return USER_ERROR
    except BrokenPipeError:
        # The reader went away (`claimwise runs | head`): nothing to say, and nobody to say it to.
        # Python would try to flush on the way out and complain: give it somewhere to flush to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return USER_ERROR
    except OSError as error:
        _complain(f"{error.filename or 'output'}: {error.strerror or error}")
        return USER_ERROR
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted; nothing is half-written", err=True)
        return INTERRUPTED
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 - the last resort: whatever it is, it is ours to explain
        traceback.print_exc()
        from importlib.metadata import version  # half of what `--help` would take, for this alone

        _complain(f"This is a bug in claimwise {version('claimwise')}; please report it.")
        return OUR_FAULT
    return code if isinstance(code, int) else 0


def _explain_usage(error: click.ClickException) -> None:
    """Say in one line what is wrong with a command line; a group alone shows its commands."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(error.format_message(), err=True)
        return
    _complain(" ".join(error.format_message().split()))
    if isinstance(error, click.UsageError) and error.ctx:
        click.echo(f"help: {error.ctx.command_path} --help", err=True)


def _complain(message: str) -> None:
    for line in message.split("\n"):
        click.echo(f"error: {make_printable(line)}", err=True)
