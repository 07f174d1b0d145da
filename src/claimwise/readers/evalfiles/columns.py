"""Finds out which column of a table is what, by its name, or by what the user says.

Names are compared without case and separators. The columns of an object inside a row have dotted
names: ``inputs.question``.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

import msgspec

from claimwise.disk.input import refuse
from claimwise.errors import ClaimwiseError, InputError, make_printable
from claimwise.readers.evalfiles.values import normalise_name, to_truth
from claimwise.types.rows import QUERY_TYPES

# Our names, and those of files, best first. All are written as normalise_name returns them.
ROLES: dict[str, tuple[str, ...]] = {
    "question": (
        "question", "userinput", "query", "userquery", "userquestion", "questiontext", "ask",
        "input", "inputs", "inputtext", "userprompt", "usermessage", "prompt", "request",
        "instruction", "problem", "q",
    ),
    "answer": (
        "answer", "answertext", "response", "actualoutput", "generatedanswer",
        "generatedresponse", "generatedtext", "generatedoutput", "modelanswer", "modelresponse",
        "modeloutput", "llmanswer", "llmresponse", "llmoutput", "ragresponse", "raganswer",
        "ragoutput", "agentanswer", "agentresponse", "botanswer", "botresponse", "airesponse",
        "aianswer", "systemanswer", "systemresponse", "systemoutput", "assistantresponse",
        "assistantanswer", "predictedanswer", "prediction", "predictions", "predicted",
        "completion", "output", "outputs", "outputtext", "finalanswer", "reply", "generation",
        "responsetext", "actual",
    ),
    "contexts": (
        "retrievedcontexts", "retrievalcontext", "retrievedcontext", "contexts",
        "retrieveddocuments", "retrieveddocs", "retrievedpassages", "retrievedchunks",
        "retrieveddocument", "sourcedocuments", "sourcenodes", "searchresults",
        "context", "contexttext", "documents", "passages", "docs", "chunks", "sources",
        "evidence", "evidences", "snippets", "ctxs", "knowledge", "document", "passage", "chunk",
        "doc", "article", "sourcetext",
    ),
    "context_ids": (
        "retrievedcontextids", "contextids", "retrieveddocids", "retrieveddocumentids",
        "documentids", "docids", "sourceids", "passageids", "chunkids", "retrievedids",
    ),
    "reference": (
        "reference", "referenceanswer", "groundtruth", "groundtruths", "groundtruthanswer",
        "expectedoutput", "expectedanswer", "expectedresponse", "expected", "goldanswer",
        "goldenanswer", "gold", "golden", "gtanswer", "gt", "correctanswer", "idealanswer",
        "ideal", "targetanswer", "target", "targets", "goldanswers", "answers",
    ),
    "messages": ("messages", "conversation", "conversations", "turns", "dialog", "dialogue",
                 "chathistory", "chat"),
    "tools": ("toolscalled", "toolcalls"),
    "answerable": ("answerable", "isanswerable", "hasanswer"),
    "unanswerable": ("unanswerable", "isimpossible", "isunanswerable"),
    "stakes": ("stakes", "stake", "risk", "risklevel"),
    "query_type": ("querytype", "questiontype"),
    "domain": ("domain", "topic", "category", "subject"),
    "model": ("model", "modelname", "modelid", "llm", "generatormodel"),
    "system": ("system", "systemname", "provider", "pipeline", "variant", "experiment",
               "experimentname"),
    "conversation_id": ("conversationid", "sessionid", "threadid", "chatid", "dialogid",
                        "dialogueid", "session", "thread"),
    "trace_id": ("traceid", "id", "questionid", "queryid", "qid", "itemid", "exampleid",
                 "sampleid", "requestid", "rowid"),
    "happened_at": ("happenedat", "timestamp", "createdat", "starttime", "time", "datetime",
                    "date"),
    "failure": ("failure", "error", "errormessage", "exception"),
    "feedback": ("feedback", "userfeedback", "comment"),
}  # fmt: skip
# What the system should have been given: not what it was given.
_GOLD_CONTEXTS = frozenset({"referencecontexts", "referencecontextids", "referencecontext",
                            "goldcontext", "goldcontexts", "groundtruthcontext",
                            "groundtruthcontexts", "expectedcontext", "expectedcontexts",
                            "expectedretrievedcontext", "supportingfacts"})  # fmt: skip
# Objects in which columns are looked for; others, such as grades, hold no question.
_HOLDERS = frozenset({"input", "inputs", "output", "outputs", "expectations", "expected", "vars",
                      "data", "item", "sample", "row", "example", "record", "metadata", "meta",
                      "fields", "request", "response", "additionalmetadata",
                      "reference", "prediction"})  # fmt: skip
_SCORES = frozenset({"faithfulness", "answerrelevancy", "contextprecision", "contextrecall",
                     "metric", "metrics", "scores", "hallucination"})  # fmt: skip
_USUAL_NAMES = {
    "question": "question, query, user_input, input",
    "answer": "answer, response, output, actual_output",
}
_ALLOWED = frozenset({"true", "false", "low", "medium", "high", *QUERY_TYPES})
_NUMBERED = re.compile(r"(?P<name>[a-z]+?)(?P<number>\d{1,3})\Z")
_INDEX = re.compile(r"(unnamed\d*|index|level\d+|)\Z")
MAX_COLUMNS = 200
_MOST_DEPTH = 3
_SHOWN_COLUMNS = 30


class Columns(msgspec.Struct, frozen=True):
    """Which columns are taken for what: our names lead to columns, mostly to one."""

    taken: dict[str, tuple[str, ...]]
    gold: tuple[str, ...] = ()
    others: tuple[str, ...] = ()

    def find(self, record: Mapping[str, Any], role: str) -> Any:
        """Return the first value of a role that is there."""
        found = (look_up(record, name) for name in self.taken.get(role, ()))
        return next((value for value in found if value is not None), None)

    def describe(self) -> dict[str, str]:
        """Return our names with the file's."""
        return {
            role: " + ".join(names) if role == "contexts" else names[0]
            for role, names in self.taken.items()
        }


def look_up(record: Mapping[str, Any], name: str) -> Any:
    """Return the value of a column, whose dotted name may lead into objects."""
    if name in record:
        return record[name]
    first, _, rest = name.partition(".")
    inner = record.get(first)
    return look_up(inner, rest) if rest and isinstance(inner, Mapping) else None


def list_columns(records: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the columns of records in order; of known holders, the columns inside them too."""
    found: dict[str, None] = {}
    for record in records:
        found.update(dict.fromkeys(_list_names(record)))
    return list(found)[:MAX_COLUMNS]


def _list_names(record: Mapping[str, Any], depth: int = 0) -> Iterator[str]:
    for name, value in record.items():
        yield str(name)
        held = isinstance(value, Mapping) and normalise_name(str(name)) in _HOLDERS
        if held and depth < _MOST_DEPTH:
            yield from (f"{name}.{inner}" for inner in _list_names(value, depth + 1))


def recognise_columns(
    names: Sequence[str], roles: Mapping[str, Sequence[str]] = ROLES, gold: Iterable[str] = ()
) -> Columns:
    """Return which columns are what, by their names.

    A column has one role, the first that fits; a role has its best-named column. An outer column
    goes before an inner one of the same name. Contexts may be numbered: ``context_1``.

    Args:
        names: the file's columns.
        roles: our names with those of files, best first.
        gold: more names of columns that hold gold contexts.
    """
    gold_names = _GOLD_CONTEXTS.union(gold)
    by_leaf: dict[str, list[str]] = {}
    for name in sorted(names, key=lambda one: one.count(".")):
        by_leaf.setdefault(normalise_name(name.rpartition(".")[2]), []).append(name)
    taken: dict[str, tuple[str, ...]] = {}
    for role, known in roles.items():
        used = {name for columns in taken.values() for name in columns}
        for leaf in known:
            free = [n for n in by_leaf.get(leaf, ()) if n not in used and leaf not in gold_names]
            if free:
                outer = free[0].rpartition(".")[0]
                # Rows may differ: an answer is an object in one, and a text in another.
                whole = normalise_name(outer) in known and outer not in used
                taken[role] = (free[0], outer) if whole else (free[0],)
                break
        else:
            if role == "contexts" and (numbered := _find_numbered(by_leaf, known)):
                taken[role] = tuple(numbered)
    return _sort_out(names, taken, gold_names)


def is_table(names: Iterable[str]) -> bool:
    """Return whether names are those of a table with a question and an answer, or messages."""
    taken = recognise_columns(list(names)).taken
    return "messages" in taken or ("question" in taken and "answer" in taken)


def _sort_out(names: Sequence[str], taken: dict[str, tuple[str, ...]], gold: Set[str]) -> Columns:
    used = {name for columns in taken.values() for name in columns}
    rest = [name for name in names if name not in used and not _INDEX.match(normalise_name(name))]
    is_gold = [normalise_name(name.rpartition(".")[2]) in gold for name in rest]
    return Columns(
        taken=taken,
        gold=tuple(name for name, found in zip(rest, is_gold, strict=True) if found),
        others=tuple(name for name, found in zip(rest, is_gold, strict=True) if not found),
    )


def _find_numbered(by_leaf: Mapping[str, list[str]], known: Sequence[str]) -> list[str]:
    found = []
    for leaf, names in by_leaf.items():
        match = _NUMBERED.match(leaf)
        if match and {match["name"], match["name"] + "s"} & set(known):
            found.append((int(match["number"]), names[0]))
    return [name for _, name in sorted(found)]


def apply_column_map(columns: Columns, names: Sequence[str], path: Path, wanted: str) -> Columns:
    """Return columns as the user says: ``question=ask,contexts=docs``.

    A name that comes twice takes two columns, as contexts may be in several.

    Raises:
        ClaimwiseError: a name is not ours.
        InputError: a column is not in the file.
    """
    said: dict[str, list[str]] = {}
    for ours, theirs in parse_pairs("--map", wanted):
        if ours not in ROLES:
            known = ", ".join(ROLES)
            raise ClaimwiseError(f"Unknown field {ours!r} in --map. Known fields: {known}")
        said.setdefault(ours, []).append(_find_column(path, names, theirs))
    taken_away = {name for found in said.values() for name in found}
    taken = {
        role: kept
        for role, found in columns.taken.items()
        if role not in said and (kept := tuple(n for n in found if n not in taken_away))
    }
    taken = {role: tuple(said.get(role) or taken.get(role, ())) for role in ROLES}
    return _sort_out(names, {role: found for role, found in taken.items() if found}, set())


def _find_column(path: Path, names: Sequence[str], wanted: str) -> str:
    exact = [name for name in names if name == wanted]
    loose = [name for name in names if normalise_name(name) == normalise_name(wanted)]
    inner = [name for name in names if name.rpartition(".")[2] == wanted]
    for found in (exact, loose, inner):
        if found:
            return found[0]
    raise refuse(path, f"no column {wanted!r}", f"one of: {show_columns(names)}")


def show_columns(names: Sequence[str]) -> str:
    """Return the names of columns for a message."""
    shown = ", ".join(make_printable(name) for name in names[:_SHOWN_COLUMNS])
    return f"{shown}, …" if len(names) > _SHOWN_COLUMNS else shown or "none"


def parse_pairs(option: str, text: str) -> list[tuple[str, str]]:
    """Return the pairs of ``a=b,c=d``; what has a comma in it stands in double quotes.

    Raises:
        ClaimwiseError: a part is no pair.
    """
    pairs = []
    for part in next(csv.reader([text.replace("\n", " ")], skipinitialspace=True), []):
        left, sign, right = part.partition("=")
        if not (sign and left.strip() and right.strip()):
            shown = make_printable(part)
            raise ClaimwiseError(f"{option}: found {shown!r}, expected NAME=NAME, as question=ask")
        pairs.append((left.strip().strip('"'), right.strip().strip('"')))
    return pairs


def parse_values(wanted: str | None) -> dict[str, str]:
    """Return our values by the file's, of ``yes=true,critical=high`` (or ``true=yes``).

    Raises:
        ClaimwiseError: neither side of a pair is a value of ours.
    """
    found: dict[str, str] = {}
    for left, right in parse_pairs("--values", wanted) if wanted else ():
        theirs, ours = (left, right) if right.lower() in _ALLOWED else (right, left)
        if ours.lower() not in _ALLOWED:
            known = ", ".join(sorted(_ALLOWED))
            raise ClaimwiseError(
                f"--values: neither {left!r} nor {right!r} is a value of ours. Known: {known}"
            )
        found[theirs.lower()] = ours.lower()
    return found


def translate(value: Any, values: Mapping[str, str]) -> Any:
    """Return a value as the user calls it."""
    return values.get(str(value).strip().lower(), value) if values else value


def read_answerable(
    columns: Columns, record: Mapping[str, Any], values: Mapping[str, str]
) -> bool | None:
    """Return whether a question has an answer, where a column says it or says the contrary."""
    found = to_truth(translate(columns.find(record, "answerable"), values))
    if found is not None:
        return found
    contrary = to_truth(translate(columns.find(record, "unanswerable"), values))
    return None if contrary is None else not contrary


def _is_asked(names: Sequence[str]) -> bool:
    return bool({"question", "answer", "contexts"} & recognise_columns(names).taken.keys())


def explain_missing(path: Path, role: str, names: Sequence[str]) -> InputError:
    """Return the error for a file in which no column is known to be the question or the answer."""
    if any(normalise_name(name) in _SCORES for name in names) and not _is_asked(names):
        expected = "the questions, answers and contexts that they were computed from"
        return refuse(path, f"scores only (columns: {show_columns(names)})", expected)
    return refuse(
        path,
        f"no column for the {role} (columns: {show_columns(names)})",
        f"one named {_USUAL_NAMES[role]}…, or --map {role}=COLUMN",
    )
