"""The commands: under which heading each stands, where it is, and its line in ``--help``.

``claimwise --help`` prints this table and imports no command; a command's module is imported when
the command runs. So that a module can be moved by search and replace, its name is written in full.
"""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """One command of the table; its module holds it under the name ``command``."""

    module: str
    help: str  # the same text as the command's own short_help


HEADINGS = {
    "Check": {
        "check": Entry(
            "claimwise.cli.check", "Check one answer against its sources, claim by claim."
        ),
        "verify": Entry("claimwise.cli.verify", "Judge the claims of a stored run."),
        "factcheck": Entry(
            "claimwise.cli.factcheck", "Check an answer's facts by a model's own knowledge."
        ),
        "openbook": Entry(
            "claimwise.cli.openbook", "Check an answer's facts against a corpus of documents."
        ),
        "cascade": Entry(
            "claimwise.cli.cascade", "A judge first, a corpus for what is suspicious, then people."
        ),
        "consistency": Entry(
            "claimwise.cli.consistency", "Compare several answers to one question."
        ),
    },
    "Measure": {
        "metrics": Entry("claimwise.cli.metrics", "Rates with intervals, worst slice first."),
        "report": Entry(
            "claimwise.cli.report", "A report of one run: terminal, Markdown, HTML or JSON."
        ),
        "calibrate": Entry(
            "claimwise.cli.calibrate", "What a verifier or judge is worth by people's labels."
        ),
        "verifiers": Entry("claimwise.cli.verifiers", "What can judge claims, and how good it is."),
        "bench-verifier": Entry(
            "claimwise.cli.bench_verifier", "Measure a verifier on claims that people labelled."
        ),
        "probe-judge": Entry(
            "claimwise.cli.probe_judge", "Try a judge on made-up facts before trusting it."
        ),
    },
    "Label": {
        "annotate": Entry("claimwise.cli.annotate", "Serve the app at its labelling page."),
        "rounds": Entry(
            "claimwise.cli.rounds", "Draw claims for people to label: create, list, show, close."
        ),
        "agreement": Entry(
            "claimwise.cli.agreement", "How far people agree on the claims they both labelled."
        ),
        "labelstudio": Entry(
            "claimwise.cli.labelstudio", "Carry claims to Label Studio, and labels back."
        ),
    },
    "Decide": {
        "compare": Entry("claimwise.cli.compare", "How far two runs differ, paired by item."),
        "drift": Entry(
            "claimwise.cli.drift", "Why a rate moved: system, evidence, mix or instrument."
        ),
        "plan": Entry("claimwise.cli.plan", "Items and labels needed to see a drop."),
        "gate": Entry(
            "claimwise.cli.gate", "Pass, fail or inconclusive: the gates of claimwise.toml."
        ),
    },
    "Production": {
        "promote": Entry("claimwise.cli.promote", "Make a wrong answer from production an item."),
        "incidents": Entry(
            "claimwise.cli.incidents", "List incidents, and the gates that would catch them."
        ),
    },
    "Admin": {
        "init": Entry("claimwise.cli.init", "Make a project: claimwise.toml and an empty store."),
        "demo": Entry("claimwise.cli.demo", "Make an example project and report on it."),
        "import": Entry(
            "claimwise.cli.import_", "Read items, sources, runs, answers, labels… from files."
        ),
        "export": Entry("claimwise.cli.export", "Write everything in the store to files."),
        "runs": Entry("claimwise.cli.runs", "List the runs, the latest first."),
        "sql": Entry("claimwise.cli.sql", "Print a metric's SQL, or run it."),
        "serve": Entry("claimwise.cli.serve", "Serve the app: labelling, dashboards, accounts."),
        "accounts": Entry(
            "claimwise.cli.accounts", "Who may use the app: list, invite, disable, reset."
        ),
        "doctor": Entry(
            "claimwise.cli.doctor", "Check the installation, the settings and the store."
        ),
    },
}

COMMANDS = {name: entry for entries in HEADINGS.values() for name, entry in entries.items()}
