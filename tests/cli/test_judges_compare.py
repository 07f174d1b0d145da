"""``claimwise judges compare``: judges on the same labelled claims, with a real server."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from claimwise.bench.measure import bench_verifier
from cli.conftest import Say
from support.faulty_server import Asked, FaultyServer
from support.grounded_model import reply_to
from support.scripted import read_fences

MODEL = "openai-compatible:m"


def write_set(folder: Path, name: str, towns: int, *, pirates: bool = False) -> None:
    """Write a set: three claims about each town, of which the last is false; or the second too."""
    folder.mkdir(exist_ok=True)
    rows = []
    for town in range(towns):
        height, year = 100 + town, 1500 + town
        document = f"The tower of town {town} is {height} m tall. It was built in {year} by masons."
        for claim, label in (
            (f"The tower of town {town} is {height} m tall", 1),
            ("Pirates guard it", 0) if pirates else (f"It was built in {year} by masons", 1),
            (f"The tower of town {town} is {height + 900} m tall", 0),
        ):
            rows.append({"document": document, "claim": claim, "label": label, "group": town})
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_set(tmp_path / "data", "towers", 12)
    return tmp_path / "data"


def restate(claims: dict[str, str]) -> str:
    told = [{"id": name, "text": f"As for it: {text}"} for name, text in claims.items()]
    return json.dumps({"claims": told})


def reply_as(judge: Callable[[str, dict[str, str]], str]) -> Callable[[Asked], str]:
    """Return a model that restates claims, and judges them by a rule over prompt and fences."""

    def reply(asked: Asked) -> str:
        if "You restate claims" in asked.system:
            return restate({n: t for n, t in read_fences(asked.user).items() if n[0] == "c"})
        return judge(asked.user, read_fences(asked.user))

    return reply


def read_first_source_only(user: str, fences: dict[str, str]) -> str:
    """Judge rightly by the first source, and know no other: biased by the order of sources."""
    return reply_to("\n".join(part for part in user.split("⟦d2")[:1]) + user[user.index("⟦c1") :])


def compare(say: Say, *arguments: str) -> dict[str, Any]:
    code, out, err = say("judges", "compare", *arguments, "--format", "json")
    assert code == 0, err
    found: dict[str, Any] = json.loads(out)
    return found


def by_name(found: dict[str, Any]) -> dict[str, Any]:
    return {judge["name"]: judge for judge in found["judges"]}


def test_figures_are_those_of_bench_verifier(say_here: Say, folder: Path) -> None:
    write_set(folder, "more", 4, pirates=True)
    found = compare(say_here, "lexical", "--on", str(folder))
    bench = bench_verifier(folder, "lexical", resamples=2)
    judges = by_name(found)
    assert list(judges) == ["lexical", "overlap"]  # counting words always takes part
    assert judges["lexical"]["auc"]["value"] == pytest.approx(bench.verifier.macro.auc)
    for figure in ("auc", "balanced_accuracy", "sensitivity", "specificity"):
        expected = getattr(bench.baseline.macro, figure)
        assert judges["overlap"][figure]["value"] == pytest.approx(expected)
    (difference,) = found["differences"]
    assert difference["difference"] == pytest.approx(
        judges["lexical"]["balanced_accuracy"]["value"]
        - judges["overlap"]["balanced_accuracy"]["value"]
    )


def test_a_judge_without_a_model_never_changes_its_mind(say_here: Say, folder: Path) -> None:
    judge = by_name(compare(say_here, "lexical", "--on", str(folder)))["lexical"]
    probes = {probe["probe"]: probe for probe in judge["probes"]}
    assert [probes[name]["flips"]["value"] for name in ("repeat", "length")] == [0.0, 0.0]
    assert probes["order"]["claims"] == 36
    assert probes["template"]["why"] == probes["wording"]["why"] == "language models only"
    assert judge["usage"]["usd_per_1000_claims"] == 0.0


@pytest.fixture
def project(say_here: Say) -> Say:
    assert say_here("init")[0] == 0
    return say_here


@pytest.fixture
def biased(monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyServer]:
    with FaultyServer(reply_as(read_first_source_only)) as started:
        started.set_environment(monkeypatch)
        yield started


def test_a_bias_is_found_paid_for_once_and_told(
    project: Say, folder: Path, biased: FaultyServer
) -> None:
    command = (MODEL, "lexical", "--on", str(folder), "--price", f"{MODEL}=1,2")
    planned = project("judges", "compare", *command, "--dry-run")[1]
    assert biased.count == 0
    judge = by_name(compare(project, *command))[MODEL]
    assert f"{biased.count:,}" in planned.splitlines()[0]
    probes = {probe["probe"]: probe for probe in judge["probes"]}
    order = probes["order"]
    # Each town has two true claims, one in either half: the one that is read last is lost.
    assert (order["claims"], order["towards"], order["away"]) == (36, 12, 12)
    assert order["adjusted_p_beyond_repeat"] < 0.05
    assert probes["repeat"]["flips"]["value"] == probes["template"]["flips"]["value"] == 0.0
    assert probes["wording"]["adjusted_p_direction"] < 0.05  # it does not know its own words again
    assert probes["wording"]["away"] == 24
    assert judge["usage"]["usd_per_1000_claims"] > 0
    paid = biased.count
    again = by_name(compare(project, *command))[MODEL]
    assert biased.count == paid
    assert again["usage"]["input_tokens"] == judge["usage"]["input_tokens"]
    assert again["usage"]["seconds_per_claim"] is None
    code, out, _ = project("judges", "compare", *command)
    assert code == 0
    told = " ".join(out.split())
    assert "Without a budget: lexical." in told
    assert f"still lexical; {MODEL} is not shown to be better." in told
    assert f"{MODEL} is swayed by the order of sources: that flips more verdicts than" in told
    assert f"{MODEL} is swayed by its own wording: that moves verdicts away from" in told


def test_failures_are_unscored_claims(
    say_here: Say, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lose_some(user: str, fences: dict[str, str]) -> str:
        reply = json.loads(reply_to(user))
        return json.dumps({"claims": reply["claims"][:2]})

    with FaultyServer(reply_as(lose_some)) as server:
        server.set_environment(monkeypatch)
        found = compare(say_here, MODEL, "--on", str(folder), "--probe", "none")
    judge = by_name(found)[MODEL]
    assert (judge["claims"], judge["unscored"]) == (36, 12)
    assert judge["unscored_reasons"] == {"missing_id": 12}
    assert judge["balanced_accuracy"]["value"] is None  # all that is scored is supported
    assert judge["balanced_accuracy_bounds"] == pytest.approx([0.5, 1.0])
    assert found["differences"][0]["difference"] is None


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("lexical", "lexical", "--on", "labels"), "lexical is named twice"),
        (("lexical", "--on", "nowhere"), "nowhere: no such folder; name a folder of labelled sets"),
        (("lexical", "--on", "data", "--run", "r"), "--run needs --on labels"),
        (("nobody", "--on", "data"), "Unknown judge"),
        (("lexical", "--on", "data", "--price", "a:b=1,2"), "--price names a:b"),
        (("lexical", "--on", "data", "--cluster", "domain"), "Unknown cluster 'domain'"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_mistakes_are_told(say_here: Say, arguments: tuple[str, ...], told: str) -> None:
    code, _, err = say_here("judges", "compare", *arguments)
    assert code != 0
    assert told in err
