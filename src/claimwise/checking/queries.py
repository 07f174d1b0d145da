"""Reads what a verifier needs: which answers of a run are open, and what there is to judge by.

Answers are read a few neighbours at a time, so a run of any size needs little memory. Whether a
claim is still open is looked up with each reading, because other processes may share the work.
"""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any, Literal, NamedTuple, TypeVar, cast

import msgspec

from claimwise.errors import StoreError
from claimwise.store.files import SqlFolder
from claimwise.store.lookup import find_run, select_rows
from claimwise.store.store import Store
from claimwise.types.rows import (
    ActionEntry,
    Answer,
    Citation,
    Claim,
    Context,
    Judgement,
    Labeler,
    Row,
    Run,
    Source,
)

_SQL = SqlFolder("claimwise.checking")

R = TypeVar("R", bound=Row)
State = Literal["failed", "abstained", "empty", "open", "done"]
# Labels of all times: the store holds nothing older.
EVER = datetime(1, 1, 1)  # noqa: DTZ001 - times are stored without a zone, in UTC
_TICK = timedelta(microseconds=1)  # the least that stores tell apart
_LAST_DAY = datetime(9999, 12, 31)  # noqa: DTZ001 - likewise


class AnswerKey(NamedTuple):
    """Which answer of a run."""

    item_id: str
    sample: int


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredAnswer:
    """An answer with everything stored about it; ``labelled`` are the claims already judged."""

    key: AnswerKey
    text: str
    question: str
    context_count: int | None
    claims: tuple[Claim, ...]
    citations: tuple[Citation, ...]
    contexts: tuple[Context, ...]
    actions: tuple[ActionEntry, ...]
    labelled: frozenset[str]


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgingScope:
    """Who judges which run, how, and from when on a label counts as given."""

    run: Run
    labeler: str
    since: datetime = EVER
    judgement: Judgement = "grounded"
    _began: float = field(default_factory=time.monotonic)

    @property
    def params(self) -> dict[str, Any]:
        """The parameters that the queries share."""
        return {
            "run_id": self.run.run_id, "labeler": self.labeler, "since": self.since,
            "judgement": self.judgement,
        }  # fmt: skip

    @property
    def day(self) -> date:
        """The day on which sources must hold."""
        return self.run.started_at.date()

    def stamp(self) -> datetime:
        """Return the time of a label that is given now: never before ``since``.

        By the clock, unless that was set back: then by the time since the judging began.
        """
        elapsed = timedelta(seconds=time.monotonic() - self._began)
        return max(datetime.now(UTC), (self.since + elapsed).replace(tzinfo=UTC))


def begin_judging(
    store: Store, run_id: str, labeler: str, judgement: Judgement = "grounded", *, again: bool
) -> JudgingScope:
    """Return who judges what; ``again`` says that no label given so far counts as given.

    Such an attempt begins now, and after everything that the labeler has said of the run, which
    the clock may have dated later than now before it was set back.

    Raises:
        StoreError: there is no such run, or its labels leave no later time.
    """
    judging = JudgingScope(run=find_run(store, run_id), labeler=labeler, judgement=judgement)
    if not again:
        return judging
    last = store.query(_SQL.for_judgement("last_time", judgement), judging.params)[0][0]
    since = datetime.now(UTC).replace(tzinfo=None)
    if last is not None:
        given = msgspec.convert(last, datetime)  # SQLite gives text
        if given > _LAST_DAY:
            raise StoreError(
                f"{store.place}: {labeler} has labels of run {run_id!r} dated {given}, so "
                "later ones are impossible: correct or delete them first"
            )
        since = max(since, given + _TICK)
    return replace(judging, since=since)


def list_answers(store: Store, judging: JudgingScope) -> list[tuple[AnswerKey, State]]:
    """Return all answers of a run in order, each with what is left to do."""
    rows = store.query(_SQL.for_judgement("answers", judging.judgement), judging.params)
    return [(AnswerKey(row[0], row[1]), row[2]) for row in rows]


def read_answers(store: Store, judging: JudgingScope, first: str, last: str) -> list[StoredAnswer]:
    """Return the answers to the items from ``first`` to ``last`` that the system gave."""
    between = {**judging.params, "first": first, "last": last}
    claims = _group(_read_between(store, Claim, between))
    contexts = _group(_read_between(store, Context, between))
    actions = _group(_read_between(store, ActionEntry, between))
    citations: dict[tuple[str, str | None], list[Citation]] = defaultdict(list)
    for citation in _read_between(store, Citation, between):
        citations[citation.item_id, citation.claim_id].append(citation)
    labelled: dict[str, set[str]] = defaultdict(set)
    for item_id, claim_id in store.query(
        _SQL.for_judgement("labelled", judging.judgement), between
    ):
        labelled[item_id].add(claim_id)
    asked = "select item_id, query from eval_items where item_id between :first and :last"
    questions: dict[str, str] = dict(store.query(asked, between))
    found = []
    for answer in _read_between(store, Answer, between):
        if answer.answer_text is None:
            continue
        key = AnswerKey(answer.item_id, answer.sample)
        own = sorted(claims[key], key=lambda claim: claim.position)
        found.append(
            StoredAnswer(
                key=key,
                text=answer.answer_text,
                question=questions[key.item_id],
                context_count=answer.context_count,
                claims=tuple(own),
                citations=tuple(c for claim in own for c in citations[key.item_id, claim.claim_id]),
                contexts=tuple(contexts[key]),
                actions=tuple(actions[key]),
                labelled=frozenset(labelled[key.item_id]),
            )
        )
    return found


def read_domains(store: Store, first: str, last: str) -> dict[str, str]:
    """Return the subject area of every item that has one, from ``first`` to ``last``."""
    sql = (
        "select item_id, domain from eval_items "
        "where item_id between :first and :last and domain is not null"
    )
    return dict(store.query(sql, {"first": first, "last": last}))


def read_documents(store: Store, run: Run, first: str, last: str) -> dict[str, Source]:
    """Return the documents behind the contexts of the items from ``first`` to ``last``, by id."""
    where = (
        "where corpus_ver = :corpus_ver and source_id in (select x.source_id from contexts as x "
        "where x.run_id = :run_id and x.item_id between :first and :last)"
    )
    params = {"run_id": run.run_id, "corpus_ver": run.corpus_ver}
    rows = select_rows(store, Source, where, **params, first=first, last=last)
    return {row.source_id: row for row in rows}


def find_document(store: Store, run: Run, name: str) -> Source | None:
    """Return the document of the run's corpus that has an id or an address."""
    named = "where corpus_ver = :corpus_ver and source_id = :name"
    found = select_rows(store, Source, named, corpus_ver=run.corpus_ver, name=name)
    if not found and "://" in name:
        named = "where corpus_ver = :corpus_ver and url = :name"
        found = select_rows(store, Source, named, corpus_ver=run.corpus_ver, name=name)
    return found[0] if found else None


def read_run_corpus(
    store: Store, run: Run, *, documents: int, characters: int
) -> tuple[Source, ...] | None:
    """Return all documents of the run's corpus version, or None when it is larger than that.

    What one answer was given (``source_kind``) is no document that others could be judged by.
    """
    params = {"corpus_ver": run.corpus_ver}
    where = "where corpus_ver = :corpus_ver and source_kind is null"
    count, length = store.query(
        f"select count(*), coalesce(sum(length(source_text)), 0) from sources {where}", params
    )[0]
    if count > documents or length > characters:
        return None
    return tuple(select_rows(store, Source, where, **params))


def keeps_log(store: Store, run: Run) -> bool:
    """Tell whether anybody logged the system's actions in a run."""
    sql = "select 1 from action_log where run_id = :run_id limit 1"
    return bool(store.query(sql, {"run_id": run.run_id}))


def find_labeler(store: Store, labeler: str) -> Labeler | None:
    """Return a labeler as it is registered."""
    found = select_rows(store, Labeler, "where labeler = :labeler", labeler=labeler)
    return found[0] if found else None


def has_labels(store: Store, judging: JudgingScope) -> bool:
    """Tell whether a labeler has labelled anything, in any run."""
    sql = _SQL.for_judgement("any_label", judging.judgement)
    return bool(store.query(sql, judging.params))


def update_labeler(store: Store, row: Labeler) -> None:
    """Register the settings that a labeler has from now on."""
    params = msgspec.structs.asdict(row)
    store.execute_all([(_SQL.for_judgement("update_labeler"), params)])


def list_older(store: Store, judging: JudgingScope) -> list[tuple[str, int]]:
    """Return the runs with claims that a labeler last judged before ``since``, and how many."""
    sql = _SQL.for_judgement("older", judging.judgement)
    return [(row[0], row[1]) for row in store.query(sql, judging.params)]


class RepeatedClaim(NamedTuple):
    """A claim that several rounds of a judge scored, and how many different verdicts it got."""

    item_id: str
    claim_id: str
    claim_text: str
    verdicts: int


def list_compared(store: Store, judging: JudgingScope) -> list[RepeatedClaim]:
    """Return the claims of a run that at least two rounds of a judge scored.

    Rounds are labelers of one name, the later ones with a number behind it: ``judge:…#2``.
    """
    sql = _SQL.for_judgement("flips", judging.judgement)
    return [RepeatedClaim(*row) for row in store.query(sql, judging.params)]


def is_overtaken(store: Store, judging: JudgingScope) -> bool:
    """Tell whether a later round of a judge has labels that would decide before the first's."""
    sql = _SQL.for_judgement("overtaken", judging.judgement)
    return bool(store.query(sql, judging.params))


def count_reason(store: Store, judging: JudgingScope, reason: str) -> int:
    """Return how many claims of the run the labeler's latest label gives this reason for."""
    sql = _SQL.for_judgement("silent", judging.judgement)
    return int(store.query(sql, {**judging.params, "reason": reason})[0][0])


def count_stages(
    store: Store, judging: JudgingScope, closed_book: str, corpus: str
) -> dict[str, int]:
    """Return how many claims of the run each of a cascade's stages settled."""
    sql = _SQL.for_judgement("stages", judging.judgement)
    params = {**judging.params, "closed_book": closed_book, "corpus": corpus}
    return dict(store.query(sql, params))


def list_left_over(
    store: Store, judging: JudgingScope, reason: str
) -> list[tuple[str, str, str, str | None]]:
    """Return the claims left without a label for a reason: item, id, text, and the detail."""
    sql = _SQL.for_judgement("left_over", judging.judgement)
    rows = store.query(sql, {**judging.params, "reason": reason})
    return [(row[0], row[1], row[2], row[3]) for row in rows]


def count_verdicts(store: Store, judging: JudgingScope) -> dict[str, int]:
    """Return how many claims of the run the labeler gave each verdict, by its latest labels."""
    return dict(store.query(_SQL.for_judgement("verdicts", judging.judgement), judging.params))


def count_unscored(store: Store, judging: JudgingScope) -> dict[str, int]:
    """Return how many claims of the run the labeler left without a verdict, by reason."""
    return dict(
        sorted(store.query(_SQL.for_judgement("unscored", judging.judgement), judging.params))
    )


def _read_between(store: Store, row_type: type[R], between: dict[str, Any]) -> list[R]:
    where = "where run_id = :run_id and item_id between :first and :last"
    return select_rows(store, row_type, where, **between)


def _group(rows: list[R]) -> dict[AnswerKey, list[R]]:
    found: dict[AnswerKey, list[R]] = defaultdict(list)
    for row in rows:
        of_answer = cast(Any, row)
        found[AnswerKey(of_answer.item_id, of_answer.sample)].append(row)
    return found
