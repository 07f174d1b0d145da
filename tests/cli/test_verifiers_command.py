"""``claimwise verifiers``: what is listed, and that it is what is shipped."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import pytest

from claimwise.cli import verifiers
from claimwise.cli.main import run
from claimwise.cli.verifiers import SETS, find_figures, find_weak_points, sort_sets
from claimwise.judges import encoder
from claimwise.judges.card import load_card
from claimwise.judges.judge import load_verifier
from claimwise.registry import find_entry, list_entries, load_plugin
from claimwise.types.accuracy import VerifierAccuracy
from support.packages import install_package

BUILT_IN = ["embedded", "lexical", "overlap"]  # that have their own model, and figures

Say = Callable[..., str]
ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Say:
    monkeypatch.setenv("COLUMNS", "120")

    def call(*arguments: str, code: int = 0) -> str:
        assert run(["verifiers", *arguments]) == code
        captured = capsys.readouterr()
        return captured.err if code else captured.out

    return call


def test_every_verifier_is_listed(say: Say) -> None:
    lines = say().splitlines()
    for name in BUILT_IN:
        figures = find_figures(load_card(), name)
        assert figures is not None
        [line] = [line for line in lines if line.startswith(f"{name} ")]
        assert f" {round(100 * (figures.macro.balanced_accuracy or 0))}% " in line
        [first, second, *_] = say(name).splitlines()
        assert first.startswith(f"{name} ({figures.labeler}): ")
        assert second.startswith(f"threshold {figures.threshold:g}")


@pytest.mark.parametrize("name", BUILT_IN)
def test_the_card_is_about_what_is_shipped(name: str) -> None:
    """Labeler and threshold are the instrument's own, not what was measured some day."""
    figures, shipped = find_figures(load_card(), name), load_verifier(name)
    assert figures is not None
    assert (figures.labeler, figures.threshold) == (shipped.labeler, shipped.threshold)


@pytest.mark.parametrize("name", ["embedded", "lexical"])
def test_sets_come_worst_first_and_the_mean_last(say: Say, name: str) -> None:
    out = say(name)
    found = re.findall(r"^(\w+) +[\d,]+ +(\d\d)% \(\d\d–\d\d%\) +(\d\d)% ", out, re.M)
    figures = load_card().verifiers[name]
    assert [row[0] for row in found] == [*sort_sets(figures), "macro"]
    accuracies = [int(row[1]) for row in found[:-1]]
    assert accuracies == sorted(accuracies)
    assert int(found[-1][1]) / 100 == pytest.approx(figures.macro.balanced_accuracy, abs=6e-3)
    words = load_card().baseline
    assert [int(row[2]) / 100 for row in found] == pytest.approx(
        [
            *(words.sets[row[0]].balanced_accuracy for row in found[:-1]),
            words.macro.balanced_accuracy,
        ],
        abs=6e-3,
    )


def test_every_figure_has_its_interval(say: Say) -> None:
    out = say("embedded")
    [header] = re.findall(r"^set +AUC +sensitivity +specificity +ECE$", out, re.M)
    below = out[out.index(header) :].splitlines()[1 : 2 + len(load_card().baseline.sets)]
    ranged = r" [\d.]+%? \([\d.]+–[\d.]+%?\)"
    assert all(len(re.findall(ranged, line)) == 4 for line in below)


def test_one_verifier_alone(say: Say) -> None:
    out = say("lexical")
    assert "verifier:lexical-" in out
    assert "verifier:embedded-" not in out
    assert ": agreement with people" not in say()
    assert "overlap: agreement with people" in say("overlap")


def test_weak_points_are_the_cards() -> None:
    figures = load_card().verifiers["embedded"]
    text = "\n".join(find_weak_points(figures))
    worst = sort_sets(figures)[0]
    accuracy = figures.sets[worst].balanced_accuracy
    assert accuracy is not None
    assert (f"guessing (50%): {worst} " in text) == (accuracy < verifiers.POOR)
    level = {n for n, a in figures.sets.items() if a.difference and a.difference.interval[0] <= 0}  # type: ignore[index]
    [line] = [line for line in text.splitlines() if line.startswith("Not shown")] or [""]
    assert set(re.findall(r"\w+", line.partition(":")[2])) == level
    fewest = min(figures.sets, key=lambda name: figures.sets[name].groups)
    assert f"{fewest} {figures.sets[fewest].groups}" in text


def test_limits_and_licences_are_told(say: Say) -> None:
    out = say("embedded")
    for limit in verifiers.LIMITS:
        assert limit.split(":")[0] in say()
        assert limit.split(":")[0] in out
    for material in verifiers.TRAINING:
        assert f"- {material.name}: " in out
        assert material.licence in out
    assert "38%" in out


def test_json_has_what_the_text_has(say: Say) -> None:
    document = json.loads(say("--format", "json"))
    listed = [entry["name"] for entry in document["verifiers"]]
    assert listed[:3] == BUILT_IN
    assert set(listed) == {entry.name for entry in list_entries("judges")}
    first = document["verifiers"][0]
    figures = load_card().verifiers["embedded"]
    assert list(first["figures"]["sets"]) == sort_sets(figures)
    assert first["figures"]["macro"]["difference"]["interval"] == list(
        figures.macro.difference.interval  # type: ignore[union-attr,arg-type]
    )
    assert first["bytes"] > 10_000_000 > document["verifiers"][1]["bytes"] > 0
    assert (
        document["baseline"]["macro"]["balanced_accuracy"]
        < (first["figures"]["macro"]["balanced_accuracy"])
    )
    assert document["card"]["fitted"] == list(load_card().fitted)
    assert all(entry["licence"] for entry in document["training"])


def test_without_the_extra_it_says_what_to_install(
    say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoder, "has_encoder", lambda: False)
    assert "embedded can't run here: pip install 'claimwise[encoder]'" in say()
    entry = json.loads(say("embedded", "--format", "json"))["verifiers"][0]
    assert (entry["runs_here"], entry["install"]) == (False, "pip install 'claimwise[encoder]'")


def test_unknown_name(say: Say) -> None:
    message = say("nonsense\x1b[2J", code=1)
    assert "Known judges: bespoke-minicheck, embedded, granite-guardian, hhem" in message
    assert "\x1b" not in message


def test_an_unmeasured_verifier_has_no_figures(
    say: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "from claimwise.registry import Plugin; P = Plugin(description='all', load=dict)"
    install_package(monkeypatch, tmp_path, "acme", code, judges={"oracle": "P"})
    assert "oracle" in say()
    assert json.loads(say("oracle", "--format", "json"))["verifiers"][0]["figures"] is None


def test_sizes_are_those_of_the_files() -> None:
    def measure_size(name: str) -> int:
        entry = find_entry("judges", name)
        assert entry is not None
        return load_plugin(entry).measure_size()

    sizes = {p.name: len(p.read_bytes()) for p in (files("claimwise.judges") / "data").iterdir()}
    weights = sizes["encoder.int8.onnx"] + sizes["tokenizer.json"]
    assert measure_size("embedded") == sum(sizes.values()) - sizes["card.json"]
    assert measure_size("lexical") == measure_size("embedded") - weights
    assert measure_size("overlap") == 0
    assert sum(sizes.values()) < 40_000_000, "at most 40 MB in the repository"


def test_lists_are_complete() -> None:
    card = load_card()
    assert set(card.baseline.sets) == set(SETS)
    assert set(card.fitted) <= {*SETS, "faithdial"}
    measured: list[VerifierAccuracy] = [*card.verifiers.values()]
    assert {m.verifier for m in measured} | {card.baseline.verifier} == set(BUILT_IN)


def test_training_data_are_those_that_are_read() -> None:
    """The sets that training/pairs.py reads are the sets that the card names."""
    code = (ROOT / "training/pairs.py").read_text("utf-8")
    read = set(
        re.findall(r'"((?:c?[sm]nli|cad_nli|\w+_passages|fever|fool\w+|faithdial|boolq))"', code)
    )
    named = re.findall(r"\w+", " ".join(material.name for material in verifiers.TRAINING))
    assert len(read) == 9
    assert read <= set(named)
