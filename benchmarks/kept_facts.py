"""Can a model that judges change what it judges?

Replies by hand (``tests/judges/kept_facts``). Hostile: the reply corrects a figure, drops a denial,
exchanges a name, leaves a piece out… in four modes. Caught is one of which nothing false counts in
the rate and whose bounds stay open. Harmless: the same fact in other words (passive voice, order,
synonyms, “two” for 2, dates in other formats, a name for “it”). Accepted is one that is judged as
it is. Rivals: the package as it was in 0.9.0, from the repository's history (half of a claim's
words had to be the answer's), and taking nothing but the answer's own words, letter by letter.
Asked: every hostile reply caught, 90% of the harmless ones accepted. Whoever wrote the rule wrote
the replies: read the figures as what it does with replies as plain as these. The facts that were
labelled by hand for ``splitting.py``, long before, are a set that nobody wrote for it: each is said
as its subject and its words, as a model would; a few of them do leave out a denial.
"""

from __future__ import annotations

import argparse
import importlib.util
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RELEASE, RELEASE_NAME = "deda138", "claimwise 0.9.0"
OURS, LETTERS = "claimwise", "same letters"
ACCEPTED = 0.9

Found = dict[str, list[bool]]
"""By kind: whether a hostile reply was caught, or a harmless one accepted."""


def load_cases() -> ModuleType:
    """Return the module that reads and plays the replies."""
    path = ROOT / "tests" / "judges" / "reply_cases.py"
    spec = importlib.util.spec_from_file_location("reply_cases", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def measure(cases: ModuleType) -> dict[str, Any]:
    """Return what the package that is installed makes of all replies."""
    hostile: Found = defaultdict(list)
    harmless: Found = defaultdict(list)
    refused: list[str] = []
    for case in cases.read_cases("hostile"):
        found = cases.judge_case(case)
        is_open = found.bounds is not None and found.bounds[0] < found.bounds[1]
        hostile[case["kind"]].append(is_open and set(found.counted) <= set(case["honest"]))
    start = time.process_time()
    for case in cases.read_cases("harmless"):
        why = cases.find_refused(case, "closed-book")
        harmless[case["kind"]].append(not why)
        refused += why
    cpu = (time.process_time() - start) / sum(map(len, harmless.values())) * 1e3
    return {"hostile": hostile, "harmless": harmless, "refused": refused, "cpu_ms": cpu}


def measure_letters(cases: ModuleType) -> dict[str, Any]:
    """Return what a judge would make of them that takes the answer's own words alone.

    It sees changed words, and nothing else that a reply may do.
    """
    hostile: Found = defaultdict(list)
    harmless: Found = defaultdict(list)
    for case in cases.read_cases("hostile"):
        texts = [made.get("text", "") for said in case["said"].values() for made in said]
        changed = any(text and text.rstrip(".") not in case["answer"] for text in texts)
        hostile[case["kind"]].append(changed)
    for case in cases.read_cases("harmless"):
        texts = [text for said in case["said"].values() for text in said]
        harmless[case["kind"]].append(all(text.rstrip(".") in case["answer"] for text in texts))
    return {"hostile": hostile, "harmless": harmless}


def measure_release() -> dict[str, Any] | str:
    """Return what the release makes of them, in a process of its own; or why that is unknown."""
    command = ["git", "-C", str(ROOT), "archive", RELEASE, "src"]
    packed = subprocess.run(command, capture_output=True, check=False)
    if packed.returncode:
        return f"the repository has no {RELEASE}"
    with tempfile.TemporaryDirectory() as name:
        with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
            archive.extractall(name, filter="data")
        environ = {**os.environ, "PYTHONPATH": str(Path(name) / "src")}
        child = [sys.executable, __file__, "--child"]
        done = subprocess.run(child, capture_output=True, text=True, env=environ, check=False)
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["it said nothing"])[-1][:200]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def measure_labelled() -> dict[str, int]:
    """Return how many labelled facts of real-looking answers are taken for the answer's."""
    from claimwise.fact_check.answer import cut_pieces
    from claimwise.judges.kept_facts import KeptFacts

    accepted = asked = 0
    lines = (ROOT / "benchmarks" / "data" / "splitting.jsonl").read_text("utf-8").splitlines()
    for case in map(json.loads, lines):
        answer, question = case["answer"], case.get("question") or ""
        pieces, facts = cut_pieces(answer, question), KeptFacts(f"{answer}\n{question}")
        for fact in case["claims"]:
            place = answer.find(fact["says"])
            piece = next((p for p in pieces if p.start <= place < p.end), None)
            subject = (fact["subject"] or "").split("|")[0]
            named = subject.casefold() in fact["says"].casefold()
            claim = fact["says"] if named else f"{subject} {fact['says']}"
            if piece is not None:
                own = [one.wording for one in piece.factual]
                asked += 1
                accepted += facts.find_change(claim, piece.text, own, [claim]) is None
    return {"facts": asked, "accepted": accepted}


def count(found: Found) -> tuple[int, int]:
    flat = [one for kind in found.values() for one in kind]
    return sum(flat), len(flat)


def print_tables(rows: dict[str, dict[str, Any]]) -> None:
    for what, title in (("hostile", "hostile replies caught"), ("harmless", "harmless accepted")):
        print(f"| {title} | {' | '.join(rows)} |")
        print(f"| --- |{' ---: |' * len(rows)}")
        for kind in rows[OURS][what]:
            shown = (f"{sum(row[what][kind])} of {len(row[what][kind])}" for row in rows.values())
            print(f"| {kind} | {' | '.join(shown)} |")
        whole = ("{} of {}".format(*count(row[what])) for row in rows.values())
        print(f"| **all** | {' | '.join(whole)} |\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="without the release")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    cases = load_cases()
    ours = measure(cases)
    if args.child:
        print(json.dumps(ours))
        return
    rows = {OURS: ours, LETTERS: measure_letters(cases)}
    release = "left out by --quick" if args.quick else measure_release()
    if isinstance(release, str):
        print(f"not measured: {RELEASE_NAME}: {release}")
    else:
        rows = {OURS: ours, RELEASE_NAME: release, LETTERS: rows[LETTERS]}
    print_tables(rows)
    for line in ours["refused"]:
        print(f"refused: {line}")
    labelled = measure_labelled()
    print(f"labelled facts accepted: {labelled['accepted']} of {labelled['facts']}")
    caught, hostile = count(ours["hostile"])
    accepted, harmless = count(ours["harmless"])
    found = {
        name: {"caught": count(row["hostile"])[0], "accepted": count(row["harmless"])[0]}
        for name, row in rows.items()
    }
    figures = {
        "hostile": hostile,
        "harmless": harmless,
        "found": found,
        "labelled": labelled,
        "cpu_ms_per_answer": round(ours["cpu_ms"], 3),
        "holds": caught == hostile and accepted >= ACCEPTED * harmless,
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
