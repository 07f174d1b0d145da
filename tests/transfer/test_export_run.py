"""What ``claimwise export --to`` writes for each tool, as that tool reads it."""

from __future__ import annotations

import ast
import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from claimwise.disk.duckdb_files import connect_duckdb
from claimwise.errors import ClaimwiseError
from claimwise.store import Store, open_store
from claimwise.transfer import export_run, export_store
from claimwise.transfer.export_run import TARGETS
from small_data import answer, item, label, load, run, source
from transfer.outgoing_data import (
    EMBEDDED,
    HOSTILE,
    JUDGE,
    OPEN,
    OTEL_ID,
    SUPPORTED,
    UUID,
    WRONG,
    load_awkward_run,
)

PER_TRACE = ("langfuse-scores", "phoenix-annotations", "opik")


@pytest.fixture(scope="module")
def awkward(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A run with a failed answer, unscored claims and hostile text. Read it only."""
    with open_store(tmp_path_factory.mktemp("awkward") / "s.db", create=True) as store:
        load_awkward_run(store)
        yield store


def export(store: Store, target: str, path: Path, **more: Any) -> str:
    result = export_run(store, "r", target, path, **more)
    assert [file for file, _ in result.files] == [path]
    return path.read_text(encoding="utf-8")


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.removesuffix("\n").split("\n")]


def about_judges(found: object) -> Iterator[dict[str, Any]]:
    """Yield every object, however deep, that names a judge."""
    if isinstance(found, dict):
        if "judge" in found:
            yield found
        for value in found.values():
            yield from about_judges(value)
    elif isinstance(found, list):
        for value in found:
            yield from about_judges(value)


def test_ragas_rows_hold_the_dataset_and_our_columns(awkward: Store, tmp_path: Path) -> None:
    first, second, failed, last = lines(export(awkward, "ragas", tmp_path / "x.jsonl"))
    assert first["user_input"] == HOSTILE
    assert first["retrieved_contexts"] == ["The tower is 139 m tall.", "Dogs may come in."]
    assert first["response"] == f"{SUPPORTED} {WRONG} {OPEN} Hello!"
    assert first["reference"] == "139 m"
    assert first["claimwise_faithfulness"] == 0.5
    assert first["claimwise_unscored_claims"] == 1
    assert [c.get("verdict") for c in first["claimwise_claims"]] == ["supported", "unlinked", None]
    assert "retrieved_contexts" not in second  # nobody recorded them
    assert "reference" not in second
    assert "claimwise_faithfulness" not in second
    assert second["claimwise_unscored"] == "no_label"
    assert "response" not in failed
    assert failed["retrieved_contexts"] == []
    assert failed["claimwise_failure"] == "timeout"
    assert last["claimwise_judges"] == [{"judge": "ana", "judge_kind": "human"}]


def test_ragas_table_has_lists_that_python_and_json_read(awkward: Store, tmp_path: Path) -> None:
    export(awkward, "ragas", tmp_path / "x.csv")
    with (tmp_path / "x.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    contexts = rows[0]["retrieved_contexts"]
    assert json.loads(contexts) == ast.literal_eval(contexts)
    assert rows[0]["user_input"] == f"'{HOSTILE}"  # no formula for a spreadsheet
    assert [row["claimwise_faithfulness"] for row in rows] == ["0.5", "", "", "1.0"]


def test_deepeval_cases_tell_gold_and_retrieved_apart(awkward: Store, tmp_path: Path) -> None:
    cases = json.loads(export(awkward, "deepeval", tmp_path / "x.json"))
    assert [case["input"] for case in cases] == [HOSTILE, *["How tall is it?"] * 3]
    assert cases[0]["retrieval_context"][0] == "The tower is 139 m tall."
    assert cases[0]["expected_output"] == "139 m"
    assert "context" not in cases[0]
    assert cases[2]["actual_output"] is None  # DeepEval wants the key
    assert "faithfulness" not in cases[1]["additional_metadata"]
    assert "Not supported: “It is =1+1" in cases[0]["comments"]


@pytest.mark.each_engine
def test_gold_spans_go_to_deepeval_as_context(demo_store: Store, tmp_path: Path) -> None:
    export_run(demo_store, "candidate", "deepeval", tmp_path / "x.json")
    first = json.loads((tmp_path / "x.json").read_bytes())[0]
    spans = demo_store.query("select span_text from gold_spans where item_id = 'agg-01'")
    assert sorted(first["context"]) == sorted(row[0] for row in spans) != []


def test_promptfoo_results_count_what_passed(awkward: Store, tmp_path: Path) -> None:
    document = json.loads(export(awkward, "promptfoo", tmp_path / "x.json"))
    results = document["results"]
    assert results["version"] == 3
    assert [r["success"] for r in results["results"]] == [False, False, False, True]
    assert [r["failureReason"] for r in results["results"]] == [1, 2, 2, 0]
    assert [r["namedScores"] for r in results["results"]] == [
        {"claimwise_faithfulness": 0.5}, {}, {}, {"claimwise_faithfulness": 1.0}
    ]  # fmt: skip
    metrics = results["prompts"][0]["metrics"]
    assert metrics["namedScoresCount"] == {"claimwise_faithfulness": 2}
    assert (metrics["assertPassCount"], metrics["assertFailCount"]) == (2, 1)
    assert results["stats"]["errors"] == metrics["testErrorCount"] == 2
    parts = results["results"][0]["gradingResult"]["componentResults"]
    assert [part["score"] for part in parts] == [1.0, 0.0]  # the unscored claim is none of them
    assert document["config"]["tests"] == []  # nothing that promptfoo would fill in or open


def test_inspect_log_has_samples_and_inspects_own_unscored(awkward: Store, tmp_path: Path) -> None:
    log = json.loads(export(awkward, "inspect", tmp_path / "x.json"))
    scores = [sample["scores"]["claimwise_faithfulness"] for sample in log["samples"]]
    assert [str(score["value"]) for score in scores] == ["0.5", "nan", "nan", "1.0"]
    assert [score.get("reason") for score in scores] == [None, "no_label", "no_answer", None]
    assert log["results"]["scores"][0]["metrics"]["mean"]["value"] == 0.75
    assert log["results"]["scores"][0]["unscored_samples"] == 2
    assert log["samples"][0]["output"]["choices"][0]["message"]["content"].startswith(SUPPORTED)
    assert log["samples"][0]["metadata"]["contexts"][1] == "Dogs may come in."
    assert log["samples"][2]["output"]["choices"] == []


def test_langfuse_scores_name_trace_and_type(awkward: Store, tmp_path: Path) -> None:
    scores = lines(export(awkward, "langfuse-scores", tmp_path / "x.jsonl"))
    told = [(s["name"], s["value"], s["dataType"], s["traceId"]) for s in scores]
    assert told == [
        ("claimwise_faithfulness", 0.5, "NUMERIC", OTEL_ID),
        ("claimwise_verdict", "supported", "CATEGORICAL", OTEL_ID),
        ("claimwise_verdict", "unlinked", "CATEGORICAL", OTEL_ID),
        ("claimwise_verdict", "unscored", "CATEGORICAL", OTEL_ID),
        ("claimwise_unscored", "no_label", "CATEGORICAL", UUID),
        ("claimwise_verdict", "unscored", "CATEGORICAL", UUID),
        ("claimwise_unscored", "no_answer", "CATEGORICAL", "weird id"),
    ]
    assert scores[1]["comment"] == (
        f"“{SUPPORTED}” is supported: the same height. Evidence: “The tower is 139 m tall.”"
    )
    assert scores[3]["comment"] == f"“{OPEN}” is not scored (timeout): no reply in 60 s."
    again = lines(export(awkward, "langfuse-scores", tmp_path / "y.jsonl"))
    assert len({s["id"] for s in scores}) == 7
    assert scores == again  # sent twice, a score replaces itself


def test_phoenix_annotations_have_labels_and_no_made_up_scores(
    awkward: Store, tmp_path: Path
) -> None:
    found = json.loads(export(awkward, "phoenix-annotations", tmp_path / "x.json"))["data"]
    told = [(a["annotator_kind"], a["result"]["label"], a["result"].get("score")) for a in found]
    assert told == [
        ("LLM", "unsupported", 0.5), ("LLM", "supported", 1.0), ("CODE", "unlinked", 0.0),
        ("CODE", "unscored", None), ("CODE", "unscored", None), ("CODE", "unscored", None),
        ("CODE", "unscored", None),
    ]  # fmt: skip
    assert len({(a["name"], a["identifier"]) for a in found}) == len(found)
    assert {a["trace_id"] for a in found} == {OTEL_ID, UUID, "weird id"}


def test_opik_scores_are_numbers_and_name_the_judge(awkward: Store, tmp_path: Path) -> None:
    result = export_run(awkward, "r", "opik", tmp_path / "x.json")
    scores = json.loads((tmp_path / "x.json").read_bytes())["scores"]
    assert [(s["name"], s["value"], s["category_name"]) for s in scores] == [
        ("claimwise_faithfulness", 0.5, "unsupported"),
        ("claimwise_claim_1", 1.0, "supported"),
        ("claimwise_claim_2", 0.0, "unlinked"),
    ]
    assert {s["id"] for s in scores} == {OTEL_ID}
    assert f"Not scored: “{OPEN}” (timeout)" in scores[0]["reason"]
    assert f"Judged by {JUDGE}, gpt-x, prompt grounded/1, not yet checked" in scores[1]["reason"]
    assert "left out: 2 answers without a verdict" in result.notes
    assert "left out: 1 answer without a trace id" in result.notes


def test_turns_of_one_trace_go_back_to_that_trace(tmp_path: Path) -> None:
    with open_store(tmp_path / "s.db", create=True) as store:
        load(store, source(), run(), item("q1"), item("q2"),
             answer("q1", "It is tall.", trace_id=f"{UUID}#1"),
             answer("q2", "It is old.", trace_id=f"{UUID}#2"),
             label("q1", "It is tall.", "unlinked"),
             label("q2", "It is old.", "unlinked"))  # fmt: skip
        for target in ("langfuse-scores", "opik"):
            export_run(store, "r", target, tmp_path / target)
    scores = json.loads((tmp_path / "opik").read_bytes())["scores"]
    assert [(s["id"], s["name"]) for s in scores if "faithfulness" in s["name"]] == [
        (UUID, "claimwise_faithfulness_turn_1"), (UUID, "claimwise_faithfulness_turn_2")
    ]  # fmt: skip
    bodies = lines((tmp_path / "langfuse-scores").read_text(encoding="utf-8"))
    assert {body["traceId"] for body in bodies} == {UUID}
    assert len({body["id"] for body in bodies}) == 4
    assert [body["metadata"].get("turn") for body in bodies] == [1, None, 2, None]


def test_mlflow_records_have_assessments_with_an_error_for_what_failed(
    awkward: Store, tmp_path: Path
) -> None:
    first, second, failed, _ = lines(export(awkward, "mlflow", tmp_path / "x.jsonl"))
    assert first["inputs"]["question"] == HOSTILE
    assert first["expectations"] == {"expected_response": "139 m"}
    assert "outputs" not in failed
    told = [(a["source"], a["feedback"]) for a in first["assessments"]]
    assert told[0][1] == {"value": 0.5}
    assert told[1] == ({"source_type": "LLM_JUDGE", "source_id": JUDGE}, {"value": "supported"})
    assert told[2][0] == {"source_type": "CODE", "source_id": EMBEDDED}
    assert told[3][1] == {
        "value": None, "error": {"error_code": "timeout", "error_message": "no reply in 60 s"}
    }  # fmt: skip
    assert second["assessments"][0]["feedback"]["error"] == {"error_code": "no_label"}
    assert all(
        isinstance(value, str) for a in first["assessments"] for value in a["metadata"].values()
    )


def test_otel_events_carry_a_score_or_an_error(awkward: Store, tmp_path: Path) -> None:
    requests = lines(export(awkward, "otel", tmp_path / "x.jsonl"))
    events = [r["resourceLogs"][0]["scopeLogs"][0]["logRecords"] for r in requests]
    assert [len(of_answer) for of_answer in events] == [4, 2, 1, 2]
    assert {e["eventName"] for of_answer in events for e in of_answer} == {
        "gen_ai.evaluation.result"
    }
    told = [{a["key"]: a["value"] for a in e["attributes"]} for e in events[0]]
    name, value, label = (f"gen_ai.evaluation.{x}" for x in ("name", "score.value", "score.label"))
    assert told[0][name] == {"stringValue": "claimwise_faithfulness"}
    assert [t.get(value) for t in told] == [
        {"doubleValue": 0.5}, {"doubleValue": 1.0}, {"doubleValue": 0.0}, None
    ]  # fmt: skip
    assert [t.get("error.type") for t in told] == [None, None, None, {"stringValue": "timeout"}]
    assert label not in told[3]
    assert told[1]["claimwise.judge_model"] == {"stringValue": "gpt-x"}
    assert [of_answer[0].get("traceId") for of_answer in events] == [
        OTEL_ID, UUID.replace("-", ""), None, None
    ]  # fmt: skip
    other = {a["key"]: a["value"] for a in events[2][0]["attributes"]}
    assert other["claimwise.trace_id"] == {"stringValue": "weird id"}
    assert events[0][0]["timeUnixNano"] == "1769904000000000000"  # 2026-02-01


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_hugging_face_folder_has_a_card_and_two_tables(
    form: str, awkward: Store, tmp_path: Path
) -> None:
    other = "jsonl" if form == "parquet" else "parquet"
    export_run(awkward, "r", "huggingface", tmp_path / "hf", form=other)
    result = export_run(awkward, "r", "huggingface", tmp_path / "hf", form=form)
    data = tmp_path / "hf" / "data"
    assert result.files == ((data / f"answers.{form}", 4), (data / f"claims.{form}", 5))
    assert sorted(path.name for path in data.iterdir()) == [f"answers.{form}", f"claims.{form}"]
    with connect_duckdb("a test") as db:
        answers = db.execute(
            f"select question, contexts, faithfulness, unscored from '{data}/answers.{form}'"
        ).fetchall()
        claims = db.execute(
            f"select claim, verdict, unscored, judge from '{data}/claims.{form}'"
        ).fetchall()
    assert answers[0] == (HOSTILE, ["The tower is 139 m tall.", "Dogs may come in."], 0.5, None)
    assert [row[2:] for row in answers[1:]] == [(None, "no_label"), (None, "no_answer"), (1, None)]
    assert claims[2] == (OPEN, None, "timeout", EMBEDDED)
    card = (tmp_path / "hf" / "README.md").read_text(encoding="utf-8")
    assert f"data_files: data/answers.{form}" in card
    assert "balanced accuracy" in card


def test_a_run_can_write_nothing_into_the_card(tmp_path: Path) -> None:
    with open_store(tmp_path / "s.db", create=True) as store:
        name = 'r"\n---\nlicense: x\x85- evil: 1'
        load(store, source(), item("q"), run(name), answer("q", "It is tall.", run_id=name))
        export_run(store, name, "huggingface", tmp_path / "hf")
    card = (tmp_path / "hf" / "README.md").read_text(encoding="utf-8")
    assert [line for line in card.splitlines() if line == "---"] == ["---", "---"]
    assert not any(line.startswith(("license", "- evil")) for line in card.splitlines())


@pytest.mark.parametrize("target", TARGETS)
def test_every_automated_figure_names_judge_model_prompt_and_agreement(
    target: str, awkward: Store, tmp_path: Path
) -> None:
    export_run(awkward, "r", target, tmp_path / "out")
    folder = tmp_path / "out" / "data"
    path = folder / "claims.jsonl" if target == "huggingface" else tmp_path / "out"
    text = path.read_text(encoding="utf-8")
    for needed in (JUDGE, "gpt-x", "grounded/1", "not yet checked against people",
                   EMBEDDED, "balanced accuracy"):  # fmt: skip
        assert needed in text
    if target not in ("opik", "otel", "huggingface", "mlflow"):  # which have it as text or pairs
        document = json.loads(text) if text.startswith(("[", "{\n")) else lines(text)
        named = list(about_judges(document))
        assert {one["judge"] for one in named} >= {JUDGE, EMBEDDED}
        assert all(one["judge_agreement"] for one in named if one["judge_kind"] == "verifier")


def test_stores_of_all_kinds_export_the_same(
    awkward: Store, postgres_place: str, tmp_path: Path
) -> None:
    export_store(awkward, tmp_path / "parquet", "parquet")
    with (
        open_store(postgres_place, create=True) as postgres,
        open_store(tmp_path / "parquet") as parquet,
    ):
        load_awkward_run(postgres)
        for target in TARGETS:
            (tmp_path / target).mkdir()
            export_run(awkward, "r", target, tmp_path / target / "sqlite")
            export_run(postgres, "r", target, tmp_path / target / "postgres")
            export_run(parquet, "r", target, tmp_path / target / "parquet")
            expected = read_tree(tmp_path / target / "sqlite")
            assert expected
            assert read_tree(tmp_path / target / "postgres") == expected
            assert read_tree(tmp_path / target / "parquet") == expected


def read_tree(path: Path) -> dict[str, bytes]:
    files = [path] if path.is_file() else sorted(path.rglob("*.*"))
    return {str(file.relative_to(path)): file.read_bytes() for file in files if file.is_file()}


@pytest.mark.parametrize("target", PER_TRACE)
def test_tools_that_score_traces_refuse_a_run_without_any(target: str, tmp_path: Path) -> None:
    with open_store(tmp_path / "s.db", create=True) as store:
        load(store, source(), item("q"), run(), answer("q", "It is tall."))
        with pytest.raises(ClaimwiseError, match="no answer has a trace id") as caught:
            export_run(store, "r", target, tmp_path / "out")
    assert target in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_run_that_nobody_judged_says_how_to_judge_it(tmp_path: Path) -> None:
    with open_store(tmp_path / "s.db", create=True) as store:
        load(store, source(), item("q"), run(), answer("q", "It is tall."))
        result = export_run(store, "r", "ragas", tmp_path / "out")
    assert result.notes == (
        "1 claim without a verdict, marked as unscored",
        "nothing is judged yet: run `claimwise verify --run r`",
    )


def test_more_items_than_are_read_at_once_come_out_once_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("claimwise.transfer.outgoing._ITEMS_AT_ONCE", 2)
    names = [f"q{n}" for n in range(5)]
    with open_store(tmp_path / "s.db", create=True) as store:
        load(store, source(), run(), *(item(name) for name in names),
             *(answer(name, f"It is {name}.") for name in names))  # fmt: skip
        found = lines(export(store, "ragas", tmp_path / "out"))
    assert [row["claimwise_item_id"] for row in found] == names
    assert [row["claimwise_claims"][0]["claim"] for row in found] == [f"It is {n}." for n in names]


def test_what_a_tool_does_not_read_is_refused(awkward: Store, tmp_path: Path) -> None:
    with pytest.raises(ClaimwiseError, match="opik has no format csv") as caught:
        export_run(awkward, "r", "opik", tmp_path / "x", form="csv")
    assert "choose json" in str(caught.value)
    with pytest.raises(ClaimwiseError, match="Unknown target"):
        export_run(awkward, "r", "excel", tmp_path / "x")
    with pytest.raises(ClaimwiseError, match="a folder; name the file"):
        export_run(awkward, "r", "opik", tmp_path)
    with pytest.raises(ClaimwiseError, match="nothing was written"):
        export_run(awkward, "r", "opik", tmp_path / "no" / "x")
    assert list(tmp_path.iterdir()) == []


def test_file_that_was_there_stays_when_an_export_fails(awkward: Store, tmp_path: Path) -> None:
    with open_store(tmp_path / "s.db", create=True) as store:
        load(store, source(), item("q"), run(), answer("q", "It is tall."))
        path = tmp_path / "scores.json"
        path.write_text("mine")
        with pytest.raises(ClaimwiseError):
            export_run(store, "r", "opik", path)
        assert path.read_text() == "mine"
