"""The commands: under which heading each stands, where it is, and its line in ``--help``.

``claimwise --help`` prints this table and imports no command; a command's module is imported when
the command runs. So that a module can be moved by search and replace, its name is written in full.
"""

from __future__ import annotations

from typing import NamedTuple


class CommandEntry(NamedTuple):
    """One command of the table; its module holds it under the name ``command``."""

    module: str
    help: str  # the same text as the command's own short_help


HEADINGS = {
    "Check": {
        "check": CommandEntry(
            "claimwise.checking.check_command",
            "Check one answer against its sources, claim by claim.",
        ),
        "verify": CommandEntry(
            "claimwise.shards.command", "Judge every claim of a stored run, or of files."
        ),
        "factcheck": CommandEntry(
            "claimwise.fact_check.command", "Check facts against what a language model knows."
        ),
        "openbook": CommandEntry(
            "claimwise.openbook.command", "Check an answer against a corpus of documents."
        ),
        "cascade": CommandEntry(
            "claimwise.openbook.cascade_command",
            "Check facts in stages: judge, then corpus, then people.",
        ),
        "consistency": CommandEntry(
            "claimwise.consistency.command", "Compare several answers to one question."
        ),
    },
    "Measure": {
        "measure": CommandEntry(
            "claimwise.measuring.command", "Measure the answers in a file: one command, one screen."
        ),
        "metrics": CommandEntry(
            "claimwise.run_report.metrics_command",
            "Calculate rates with ranges, worst group first.",
        ),
        "report": CommandEntry(
            "claimwise.run_report.command", "Report on one run as text, Markdown, HTML or JSON."
        ),
        "claims": CommandEntry(
            "claimwise.claims.command", "List the claims behind the numbers, worst first."
        ),
        "correctness": CommandEntry(
            "claimwise.correctness.command", "Compare a run's answers with their gold answers."
        ),
        "calibrate": CommandEntry(
            "claimwise.calibration.command", "Check a judge against human labels."
        ),
        "verifiers": CommandEntry(
            "claimwise.cli.verifiers", "List the built-in judges and how accurate they are."
        ),
        "bench-verifier": CommandEntry(
            "claimwise.bench.command", "Measure a judge on labelled data sets."
        ),
        "judges": CommandEntry(
            "claimwise.judge_comparison.command", "Compare judges on the same labelled claims."
        ),
        "probe-judge": CommandEntry(
            "claimwise.fact_check.probe_command",
            "Test a judge on made-up facts before you trust it.",
        ),
    },
    "Label": {
        "annotate": CommandEntry("claimwise.app.annotate_command", "Open the app for labelling."),
        "rounds": CommandEntry(
            "claimwise.labelling.command", "Manage rounds: claims sampled for people to label."
        ),
        "agreement": CommandEntry(
            "claimwise.agreement.command",
            "Measure labeler agreement; find the guideline to clarify.",
        ),
        "labelstudio": CommandEntry(
            "claimwise.labelling.labelstudio_command",
            "Label in Label Studio: export claims, import labels.",
        ),
    },
    "Decide": {
        "compare": CommandEntry("claimwise.comparison.command", "Compare two runs item by item."),
        "drift": CommandEntry(
            "claimwise.comparison.drift_command",
            "Explain why a rate moved: system, evidence, mix or judge.",
        ),
        "plan": CommandEntry(
            "claimwise.comparison.plan_command",
            "Plan how many items and labels it takes to detect a drop.",
        ),
        "gate": CommandEntry(
            "claimwise.gates.command", "Apply the gates of claimwise.toml to a run."
        ),
    },
    "Production": {
        "estimate": CommandEntry(
            "claimwise.estimates.command", "Estimate the rate of a window of live traffic."
        ),
        "label-next": CommandEntry(
            "claimwise.estimates.label_next_command",
            "Choose the claims whose labels narrow an estimate most.",
        ),
        "monitor": CommandEntry(
            "claimwise.monitoring.command", "Watch live traffic and raise alarms you can believe."
        ),
        "alarms": CommandEntry(
            "claimwise.monitoring.alarms_command",
            "List alarms, and close them with what you found.",
        ),
        "runbook": CommandEntry(
            "claimwise.monitoring.runbook_command", "Explain an alarm and what to do."
        ),
        "promote": CommandEntry(
            "claimwise.incidents.promote_command", "Turn a production error into a test case."
        ),
        "ingest-traces": CommandEntry(
            "claimwise.traffic.ingest_command",
            "Store answers of live traffic from files of traces.",
        ),
        "traffic": CommandEntry(
            "claimwise.traffic.command",
            "Show what happened to live traffic; judge it; delete old texts.",
        ),
        "incidents": CommandEntry(
            "claimwise.incidents.command", "List incidents and the gates that would catch them."
        ),
    },
    "Admin": {
        "plugins": CommandEntry(
            "claimwise.cli.plugins", "List judges, readers, providers and metrics."
        ),
        "init": CommandEntry(
            "claimwise.cli.init", "Create a project: claimwise.toml and an empty store."
        ),
        "demo": CommandEntry("claimwise.cli.demo", "Create an example project and report on it."),
        "import": CommandEntry(
            "claimwise.transfer.import_command",
            "Import items, sources, runs, answers, labels and more.",
        ),
        "export": CommandEntry(
            "claimwise.transfer.export_command", "Export the store, or a run for another tool."
        ),
        "corpus": CommandEntry(
            "claimwise.corpus.command", "Carry a golden set over to a new corpus version."
        ),
        "runs": CommandEntry("claimwise.cli.runs", "List the runs, latest first."),
        "sql": CommandEntry("claimwise.cli.sql", "Print or run the SQL of a metric."),
        "serve": CommandEntry(
            "claimwise.app.serve_command", "Start the app: labelling, dashboards, accounts."
        ),
        "accounts": CommandEntry("claimwise.accounts.command", "Manage who may use the app."),
        "keys": CommandEntry(
            "claimwise.accounts.keys_command",
            "Manage keys of programs that send traces or ask for checks.",
        ),
        "doctor": CommandEntry(
            "claimwise.cli.doctor", "Check the installation, the settings and the store."
        ),
    },
}

COMMANDS = {name: entry for entries in HEADINGS.values() for name, entry in entries.items()}
