"""A dataset folder as Hugging Face's ``datasets`` opens it: a card, and two tables.

The card declares every column's type, so that a column without a value keeps its type. Texts are
quoted in it as JSON, which is YAML too: no answer can write into the card.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

from claimwise.disk.duckdb_files import connect_duckdb, open_for_duckdb, writing_errors
from claimwise.disk.output import move_into_place, replace_file, work_folder
from claimwise.errors import make_printable
from claimwise.transfer.outgoing import OutgoingAnswer, OutgoingRun, drop_none
from claimwise.transfer.target import Record

FORMS = ("jsonl", "parquet")

# Column -> its type in a card; DuckDB's names for these are below.
_ANSWERS = {
    "run_id": "string", "item_id": "string", "sample": "int64", "question": "string",
    "contexts": "list", "source_ids": "list", "answer": "string", "reference": "string",
    "reference_contexts": "list", "failure": "string", "domain": "string", "trace_id": "string",
    "faithfulness": "float64", "supported_claims": "int64", "judged_claims": "int64",
    "unscored_claims": "int64", "unscored": "string", "explanation": "string", "judges": "list",
}  # fmt: skip
_CLAIMS = {
    "run_id": "string", "item_id": "string", "sample": "int64", "claim_id": "string",
    "claim": "string", "claim_type": "string", "answer_start": "int64", "answer_end": "int64",
    "verdict": "string", "unscored": "string", "unscored_detail": "string", "evidence": "string",
    "source_id": "string", "span_start": "int64", "reason": "string", "confidence": "float64",
    "label_kind": "string", "guide_version": "string", "judged_at": "string", "judge": "string",
    "judge_kind": "string", "judge_version": "string", "judge_model": "string",
    "judge_prompt": "string", "judge_agreement": "string",
}  # fmt: skip
_TABLES = {"answers": _ANSWERS, "claims": _CLAIMS}
_DUCKDB_TYPES = {
    "string": "varchar", "int64": "bigint", "float64": "double", "list": "varchar[]",
}  # fmt: skip


def write_dataset(
    run: OutgoingRun, answers: Iterable[OutgoingAnswer], folder: Path, form: str
) -> list[tuple[Path, int]]:
    """Write README.md and data/answers and data/claims; return the tables and their rows.

    Raises:
        OSError: the folder can't be written to.
    """
    data = folder / "data"
    data.mkdir(parents=True, exist_ok=True)
    with work_folder(data) as work:
        counts = _write_tables(run, answers, work)
        if form == "parquet":
            for name, columns in _TABLES.items():
                _convert(work / f"{name}.jsonl", work / f"{name}.parquet", columns)
        for name in _TABLES:
            move_into_place(work / f"{name}.{form}", data / f"{name}.{form}")
    # What an export in another form left there would be loaded beside it.
    for name in _TABLES:
        for other in FORMS:
            if other != form:
                (data / f"{name}.{other}").unlink(missing_ok=True)
    replace_file(folder / "README.md", _write_card(run, counts, form).encode())
    return [(data / f"{name}.{form}", counts[name]) for name in _TABLES]


def _write_tables(
    run: OutgoingRun, answers: Iterable[OutgoingAnswer], work: Path
) -> dict[str, int]:
    counts = dict.fromkeys(_TABLES, 0)
    with (
        (work / "answers.jsonl").open("w", encoding="utf-8") as of_answers,
        (work / "claims.jsonl").open("w", encoding="utf-8") as of_claims,
    ):
        for answer in answers:
            of_answers.write(_to_line(_make_row(run, answer), _ANSWERS))
            for claim in answer.claims:
                of_claims.write(_to_line(run.describe_claim(claim), _CLAIMS))
            counts["answers"] += 1
            counts["claims"] += len(answer.claims)
    return counts


def _make_row(run: OutgoingRun, answer: OutgoingAnswer) -> Record:
    about = run.describe_answer(answer)
    return {
        **about,
        "question": answer.question,
        "contexts": answer.texts,
        "source_ids": answer.source_ids,
        "answer": answer.answer,
        "reference": answer.gold_answer,
        "reference_contexts": list(answer.gold_contexts) or None,
        "domain": answer.domain,
        "trace_id": answer.trace_id,
        "explanation": answer.explanation,
        "judges": [judge.describe_in_line() for judge in run.list_judges(answer)],
    }


def _to_line(row: Record, columns: dict[str, str]) -> str:
    return json.dumps({name: row.get(name) for name in columns}, ensure_ascii=False) + "\n"


def _convert(lines: Path, target: Path, columns: dict[str, str]) -> None:
    typed = ", ".join(f"{name}: '{_DUCKDB_TYPES[kind]}'" for name, kind in columns.items())
    flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC
    with (
        connect_duckdb("a Parquet file") as db,
        open_for_duckdb(lines) as source,
        open_for_duckdb(target, flags) as result,
        writing_errors(),
    ):
        db.execute(
            f"copy (select * from read_json('{source}', columns = {{{typed}}}, "
            "format = 'newline_delimited', maximum_object_size = 268435456)) "
            f"to '{result}' (format parquet, compression zstd, use_tmp_file false)"
        )


def _write_card(run: OutgoingRun, counts: dict[str, int], form: str) -> str:
    title = _quote(f"claimwise run {run.run.run_id}")
    about = drop_none({"system": run.run.system, "model": run.run.model})
    named = ", ".join(f"{name} {_quote(value)}" for name, value in about.items())
    judges = "\n".join(f"- {_quote(judge.describe_in_line())}" for judge in run.judges.values())
    configs = "\n".join(_declare(name, columns, form) for name, columns in _TABLES.items())
    features = "\n".join(_declare_features(name, columns) for name, columns in _TABLES.items())
    return (
        f"---\npretty_name: {title}\nconfigs:\n{configs}\ndataset_info:\n{features}\n---\n\n"
        f"# {title[1:-1]}\n\n"
        f"Answers of {named}, judged claim by claim against their sources with claimwise.\n\n"
        f"- `answers`: {counts['answers']:,} rows, one per answer. `faithfulness` is the share of "
        "its judged claims that the sources support; null where nothing was judged, and "
        "`unscored` says why.\n"
        f"- `claims`: {counts['claims']:,} rows, one per claim, with verdict, evidence and reason. "
        "A claim without a verdict says why in `unscored`.\n\n"
        f"Judges, and how far each agrees with people:\n\n{judges or '- nobody yet'}\n"
    )


def _quote(text: str) -> str:
    """Return text on one line as JSON; YAML refuses and folds characters that don't print."""
    return json.dumps(make_printable(text), ensure_ascii=False)


def _declare(name: str, columns: dict[str, str], form: str) -> str:
    usual = "  default: true\n" if name == "answers" else ""
    return f"- config_name: {name}\n{usual}  data_files: data/{name}.{form}"


def _declare_features(name: str, columns: dict[str, str]) -> str:
    lines = [f"- config_name: {name}", "  features:"]
    for column, kind in columns.items():
        lines.append(f"  - name: {column}")
        lines.append("    list: string" if kind == "list" else f"    dtype: {kind}")
    return "\n".join(lines)
