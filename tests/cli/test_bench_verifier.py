"""``claimwise bench-verifier``: labelled files in, figures out; measures the real baseline."""

from __future__ import annotations

import gzip
import json
import lzma
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

import pytest

from claimwise.bench import measure
from claimwise.bench.measure import bench_verifier
from claimwise.cli.main import run
from claimwise.judges.overlap import OverlapVerifier
from claimwise.types.verdicts import Scores

Say = Callable[..., tuple[int, str, str]]

TOWERS = "The tower is 139 metres tall. Masons built it in 1874 from red sandstone."
BRIDGE = "The bridge opened in 1932. Steel for it came from Middlesbrough."
FIGURES = {"auc", "balanced_accuracy", "sensitivity", "specificity", "ece", "brier"}
KEYS = FIGURES | {
    "n", "unscored", "groups", "prevalence", "balanced_accuracy_bounds", "intervals", "difference"
}  # fmt: skip


def make_rows(items: int = 12) -> list[dict[str, Any]]:
    """Four claims an item, of which counting words gets one wrong."""
    rows = []
    for number in range(items):
        document = (TOWERS if number % 2 else BRIDGE) + f" Entry {number}."
        good, bad = (
            ("Masons built the tower.", "Pirates burned the castle down.")
            if number % 2
            else ("The bridge opened in 1932.", "Trains never crossed any river.")
        )
        for claim, label in (
            (good, 1),
            (bad, 0),
            (f"Entry {number}.", 1),
            (good.replace("tower", "bridge") if number % 3 else bad, 0),
        ):
            rows.append({"document": document, "claim": claim, "label": label, "group": number})
    return rows


def write_rows(path: Path, rows: Sequence[object]) -> None:
    text = "".join(json.dumps(row) + "\n" for row in rows)
    openers: dict[str, Callable[..., IO[str]]] = {".xz": lzma.open, ".gz": gzip.open}
    with openers.get(path.suffix, open)(path, "wt", encoding="utf-8") as file:
        file.write(text)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three sets, one for each ending."""
    data = tmp_path / "data"
    data.mkdir()
    write_rows(data / "one.jsonl", make_rows())
    write_rows(data / "two.jsonl.xz", make_rows(30))
    write_rows(data / "three.jsonl.gz", make_rows(7)[::-1])
    (data / "README.md").write_text("not a set", encoding="utf-8")
    return data


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Say:
    """Run the command on the real baseline; return exit code, output and errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")

    def call(*arguments: object, jobs: int = 1) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run(
            ["bench-verifier", *map(str, arguments), "--verifier", "overlap", "--jobs", str(jobs)]
        )
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


# Output


def test_json_has_the_promised_shape(say: Say, folder: Path) -> None:
    code, out, err = say(folder, "--format", "json", "--resamples", 100)
    assert (code, err) == (0, "")
    document = json.loads(out)
    assert set(document) == {
        "verifier", "labeler", "threshold", "sets", "macro", "baseline", "skipped", "settings"
    }  # fmt: skip
    assert document["verifier"] == "overlap"
    assert document["labeler"] == "verifier:overlap-1"
    assert document["threshold"] == OverlapVerifier.threshold
    baseline = document["baseline"]
    assert set(baseline) == {"verifier", "labeler", "threshold", "sets", "macro"}
    for half in (document, baseline):
        assert list(half["sets"]) == ["one", "three", "two"]
        assert set(half["macro"]) == KEYS | {"sets", "left_out"}
        for accuracy in half["sets"].values():
            assert set(accuracy) == KEYS
            assert set(accuracy["intervals"]) == FIGURES
    one = document["sets"]["one"]
    assert (one["n"], one["groups"], one["unscored"]) == (48, 12, 0)
    assert one["difference"] == {
        "balanced_accuracy": 0.0, "interval": [0.0, 0.0], "auc": 0.0, "auc_interval": [0.0, 0.0]
    }  # fmt: skip
    assert baseline["sets"]["one"]["difference"] is None
    assert {**one, "difference": None} == baseline["sets"]["one"]
    low, high = one["intervals"]["balanced_accuracy"]
    assert low < one["balanced_accuracy"] < high
    mean = sum(document["sets"][name]["auc"] for name in ("one", "two", "three")) / 3
    assert document["macro"]["auc"] == pytest.approx(mean)


def test_figures_come_from_the_labels(say: Say, tmp_path: Path) -> None:
    data = tmp_path / "small"
    data.mkdir()
    rows = [("Masons built the tower.", 1), ("Red sandstone.", 1), ("Pirates attacked.", 1)]
    rows += [("Pirates burned castles.", 0), ("Masons burned castles.", 0)]
    write_rows(
        data / "x.jsonl", [{"document": TOWERS, "claim": claim, "label": y} for claim, y in rows]
    )
    found = json.loads(say(data, "--format", "json")[1])["sets"]["x"]
    assert found["groups"] == 5  # without a group, every row is its own
    assert found["sensitivity"] == pytest.approx(2 / 3)
    assert found["specificity"] == 1
    assert found["balanced_accuracy"] == pytest.approx(5 / 6)
    assert found["auc"] == pytest.approx((2 + 2 + 0.5) / 6)
    assert found["prevalence"] == 0.6


def test_text_leads_with_the_worst_set_and_ends_with_macro(say: Say, folder: Path) -> None:
    # Labels turned round: nothing can be worse.
    write_rows(
        folder / "wrong.jsonl", [{**row, "label": 1 - row["label"]} for row in make_rows(30)]
    )
    code, out, _ = say(folder)
    table, _, sentences = out.split("\n\n", 2)
    names = [line.split()[0] for line in table.splitlines()]
    assert code == 0
    assert (names[0], names[1], names[-1]) == ("set", "wrong", "macro")
    assert "overlap" in table.splitlines()[0]
    for words in ("threshold of 0.7", "2,000 resamples", "plain mean over 4 sets", "fewer than 30"):
        assert words in " ".join(sentences.split())
    assert max(map(len, out.splitlines())) <= 100


def test_scores_are_written_claim_by_claim(say: Say, folder: Path, tmp_path: Path) -> None:
    code, _, err = say(folder, "--set", "three", "--scores", tmp_path / "scores.jsonl")
    assert code == 0
    assert err.startswith("wrote ")
    lines = (tmp_path / "scores.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    assert [record["label"] for record in records] == [row["label"] for row in make_rows(7)[::-1]]
    assert set(records[0]) == {
        "set", "group", "label", "supports", "contradicts", "neither", "baseline"
    }  # fmt: skip
    assert {record["set"] for record in records} == {"three"}
    assert all(record["supports"] == record["baseline"] for record in records)


def test_the_number_of_jobs_changes_nothing(say: Say, folder: Path) -> None:
    arguments = (folder, "--format", "json", "--resamples", 50, "--scores")
    alone = say(*arguments, "alone.jsonl")
    together = say(*arguments, "together.jsonl", jobs=2)
    assert alone[0] == together[0] == 0
    assert alone[1] == together[1]
    written = [Path(name).read_text(encoding="utf-8") for name in ("alone.jsonl", "together.jsonl")]
    assert written[0] == written[1]


def test_a_set_has_the_same_figures_alone_and_among_others(say: Say, folder: Path) -> None:
    among = json.loads(say(folder, "--format", "json")[1])
    alone = json.loads(say(folder, "--format", "json", "--set", "two")[1])
    assert list(alone["sets"]) == ["two"]
    assert alone["sets"]["two"] == among["sets"]["two"]


def test_a_limit_takes_whole_groups_and_always_the_same(folder: Path) -> None:
    whole, again = (
        bench_verifier(folder, "overlap", sets=["two"], limit=21, resamples=10, seed=seed)
        for seed in (0, 1)
    )
    assert whole.claims == again.claims
    assert len(whole.claims) == 24  # the first multiple of four from 21 on
    assert whole.verifier.sets["two"].groups == 6
    groups = [claim.group for claim in whole.claims]
    assert groups != [str(number) for number in range(6) for _ in range(4)]
    everything = bench_verifier(folder, "overlap", sets=["two"], limit=10_000, resamples=10)
    assert len(everything.claims) == 120


def test_claims_about_one_document_are_scored_together(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []

    class Counting(OverlapVerifier):
        def score_claims(self, claims: Sequence[str], document: str) -> list[Scores | None]:
            calls.append(document)
            return super().score_claims(claims, document)

    monkeypatch.setattr(measure, "load_verifier", lambda name: Counting())
    bench_verifier(folder, "overlap", sets=["one"], resamples=10)
    assert len(calls) == 2 * len(set(calls)) == 24  # once for the verifier, once for the baseline


# Claims that could not be scored


class Hesitant(OverlapVerifier):
    """The baseline, with nothing to say of castles."""

    name = "hesitant"
    labeler = "verifier:hesitant-1"

    def score_claims(self, claims: Sequence[str], document: str) -> list[Scores | None]:
        found = super().score_claims(claims, document)
        return [None if "castle" in c else s for c, s in zip(claims, found, strict=True)]


def test_unscored_claims_are_counted_and_bounded(
    say: Say, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(name: str) -> OverlapVerifier:
        return Hesitant() if name == "hesitant" else OverlapVerifier()

    monkeypatch.setattr(measure, "load_verifier", load)
    result = bench_verifier(folder, "hesitant", sets=["one"], resamples=50)
    found, baseline = result.verifier.sets["one"], result.baseline.sets["one"]
    castles = sum("castle" in row["claim"] for row in make_rows())
    assert (found.unscored, found.n, baseline.unscored) == (castles, 48, 0)
    assert found.balanced_accuracy_bounds is not None
    assert found.balanced_accuracy is not None
    low, high = found.balanced_accuracy_bounds
    assert low < found.balanced_accuracy < high == baseline.balanced_accuracy
    # On what both scored they are the same verifier.
    assert found.difference is not None
    assert found.difference.balanced_accuracy == 0.0
    assert [claim.supports for claim in result.claims].count(None) == castles
    assert result.verifier.macro.unscored == castles

    code = run(["bench-verifier", str(folder), "--verifier", "hesitant", "--jobs", "1"])
    assert code == 0


def test_text_names_unscored_claims(
    capsys: pytest.CaptureFixture[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        measure, "load_verifier", lambda n: Hesitant() if n == "hesitant" else OverlapVerifier()
    )
    code = run(["bench-verifier", str(folder), "--verifier", "hesitant", "--jobs", "1"])
    out = " ".join(capsys.readouterr().out.split())
    assert code == 0
    assert "claims unscored; its balanced accuracy is 75–91.7% if they all" in out
    assert "hesitant lies 0.0 points above overlap; the range includes 0" in out


def test_a_set_with_one_kind_of_label_is_left_out_of_macro(say: Say, folder: Path) -> None:
    rows = [row for row in make_rows() if row["label"]]
    write_rows(folder / "positive.jsonl", rows)
    document = json.loads(say(folder, "--format", "json")[1])
    found = document["sets"]["positive"]
    assert (found["auc"], found["balanced_accuracy"], found["specificity"]) == (None, None, None)
    assert found["difference"]["balanced_accuracy"] is None
    assert document["macro"]["left_out"]["balanced_accuracy"] == 1
    assert document["macro"]["sets"] == 4
    code, out, _ = say(folder)
    assert code == 0
    assert "positive: no balanced accuracy" in out


# Files of another kind


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([{"premise": "a", "hypothesis": "b", "label": 2}], "rows lack document and claim; they"),
        ([{"claim": "a", "label": 1, "group": "x"}], "rows lack document; they hold claim, label"),
        ([{"document": "", "claim": "a", "label": 1}] * 2, "all documents are empty"),
        ([{"document": None, "claim": "a", "label": 1}, {"document": "", "label": 1}], "all doc"),
        ([{"document": "a", "claim": "", "label": 1}], "all claims are empty"),
        ([], "holds no rows"),
    ],
)
def test_other_files_are_skipped_with_a_reason(
    say: Say, folder: Path, rows: list[object], reason: str
) -> None:
    write_rows(folder / "other.jsonl", rows)
    code, out, _ = say(folder, "--format", "json")
    assert code == 0
    document = json.loads(out)
    assert list(document["skipped"]) == ["other.jsonl"]
    assert document["skipped"]["other.jsonl"].startswith(reason)
    assert "other" not in document["sets"]
    assert "other.jsonl: " in say(folder)[1]
    code, out, err = say(folder, "--set", "other")
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert reason in err


def test_rows_without_a_claim_are_left_out_and_reported(say: Say, folder: Path) -> None:
    empty = [{"document": TOWERS, "label": 1}, {"document": TOWERS, "claim": " ", "label": 0}]
    write_rows(folder / "holes.jsonl", [*make_rows(), *empty])
    document = json.loads(say(folder, "--format", "json")[1])
    assert document["sets"]["holes"]["n"] == 48
    assert "2 of its rows" in document["skipped"]["holes.jsonl"]
    assert "49, 50" in document["skipped"]["holes.jsonl"]


def test_labels_and_groups_may_be_written_in_other_ways(say: Say, tmp_path: Path) -> None:
    data = tmp_path / "ways"
    data.mkdir()
    rows = [
        {"document": TOWERS, "claim": "Masons built it.", "label": True, "group": 7},
        {"document": TOWERS, "claim": "Pirates.", "label": 0.0, "group": "7"},
        {"document": TOWERS, "claim": "Red.", "label": 1, "id": "x", "extra": [1]},
        {"document": None, "claim": "Green.", "label": False, "group": None},
    ]
    write_rows(data / "x.jsonl", rows)
    found = json.loads(say(data, "--format", "json")[1])["sets"]["x"]
    assert (found["n"], found["groups"], found["balanced_accuracy"]) == (4, 3, 1.0)


# Bad input


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"document": "a", "claim": "b", "label": 2}', "label: found 2, expected 1 (supported)"),
        ('{"document": "a", "claim": "b", "label": "yes"}', 'label: found "yes", expected 1'),
        ('{"document": "a", "claim": "b"}', "label: found null, expected 1"),
        ('{"document": ["a"], "claim": "b", "label": 1}', 'document: found ["a"], expected text'),
        ('{"document": "a", "claim": 3, "label": 1}', "claim: found 3, expected text"),
        ('{"document": "a", "claim": "b", "label": 1, "group": [1]}', "group: found [1], expected"),
        ('{"document": "a", "claim": ', "expected a JSON object"),
        ("[1, 2]", "found [1, 2], expected a JSON object"),
    ],
)
def test_broken_rows_are_refused_with_their_place(
    say: Say, folder: Path, line: str, words: str
) -> None:
    with (folder / "one.jsonl").open("a", encoding="utf-8") as file:
        file.write(line + "\n")
    code, out, err = say(folder)
    assert (code, out) == (1, "")
    assert err.startswith(f"error: {folder / 'one.jsonl'}:49: ")
    assert words in err
    assert "fix or delete the line" in err


def test_a_file_of_nonsense_is_refused_and_its_first_lines_named(say: Say, folder: Path) -> None:
    (folder / "bad.jsonl").write_text("nonsense\n" * 100, encoding="utf-8")
    code, _, err = say(folder)
    assert code == 1
    assert "bad.jsonl:1: found" in err
    assert err.count("bad.jsonl") == 20
    assert "… and more like these" in err


def test_a_damaged_file_is_refused(say: Say, folder: Path) -> None:
    whole = (folder / "two.jsonl.xz").read_bytes()
    (folder / "two.jsonl.xz").write_bytes(whole[: len(whole) // 2])
    code, _, err = say(folder)
    assert code == 1
    assert "damaged or cut-off file" in err


def test_folders_that_cannot_be_used_get_one_clear_line(say: Say, folder: Path) -> None:
    empty = folder / "empty"
    empty.mkdir()
    for place, words in (
        (folder / "nowhere", "no such folder; name a folder of labelled sets"),
        (folder / "one.jsonl", "a file, not a folder; name a folder of"),
        (empty, "found no labelled sets, expected files that end in .jsonl"),
    ):
        code, out, err = say(place)
        assert (code, out, err.count("\n")) == (1, "", 1)
        assert words in err


def test_unknown_and_repeated_sets_are_named(say: Say, folder: Path) -> None:
    code, _, err = say(folder, "--set", "four")
    assert code == 1
    assert 'found no set "four", expected one of one, three, two' in err
    write_rows(folder / "one.jsonl.gz", make_rows())
    code, _, err = say(folder)
    assert code == 1
    assert "a second file of the set one" in err


def test_bad_options_are_usage_errors(say: Say, folder: Path) -> None:
    for arguments in (
        ["--limit", "0"],
        ["--resamples", "1"],
        ["--seed", "-1"],
        ["--scores", str(folder / "no" / "such.jsonl")],
    ):
        code, out, err = say(folder, *arguments)
        assert (code, out) == (1, "")
        assert err.startswith("error: ")
