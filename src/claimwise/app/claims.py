"""The claims: find them by run, verdict, group, source, judge or words, worst first."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from claimwise.app.links import GROUP_FIELDS, UNSUPPORTED_WORD, link_claims, read_group
from claimwise.app.requests import Call, PageRoute, Refusal, Response
from claimwise.claims.browse import (
    ClaimFilter,
    ClaimPage,
    Deciders,
    Dispute,
    ListedClaim,
    ListPlace,
    SaidFilter,
    find_claims,
    list_groups,
    list_reasons,
)
from claimwise.claims.queries import choose_judgement
from claimwise.claims.values import UNSCORED, UNSUPPORTED
from claimwise.report import format as form
from claimwise.report.marked import LOOKS, NOT_SCORED
from claimwise.store import Store
from claimwise.store.runs import list_run_ids
from claimwise.text.formulas import guard_cell

PAGE: Final = 50
_CSV_PAGE: Final = 1_000
_MOST_OPTIONS: Final = 200
_LONGEST_SEARCH: Final = 500
_NO_CHOICE: Final = "This link asks for something that claims can't be chosen by."
# What a link may say, in the order of the form.
_FIELDS: Final = (
    "run", "q", "verdict", "group", "group2", "group3", "disputed", "judge", "decided", "by",
    "said", "score", "round", "source", "reason", "basis",
)  # fmt: skip
_SAYING: Final = ("by", "said", "score")
_PLACE = re.compile(r"([0-9]{1,6})-([0-9]{1,9})")
_SCORES = re.compile(r"([01](?:\.[0-9]{1,4})?)-([01](?:\.[0-9]{1,4})?)")
_DECIDERS: Final[dict[Deciders, str]] = {
    "people": "Decided by people",
    "judges": "Decided by judges",
    "no_people": "Not labelled by people",
}
_VERDICTS: Final = {
    "grounded": ("contradicted", "overreach", "unlinked", "stale", "supported"),
    "closed_book": ("false", "unverifiable", "true", "non_factual"),
}
_DISPUTES: Final[dict[Dispute, str]] = {
    "any": "Disputed",
    "people": "People differ",
    "judge": "Judge differs from people",
}
_COLUMNS: Final = (
    "run_id", "item_id", "sample", "claim_id", "claim_text", "question", "judgement", "verdict",
    "unscored", "labeler", "confidence", "evidence", "source_id", "source_title", "reason",
    "judges", "people", "dispute",
)  # fmt: skip
_DISPUTE_WORDS: Final = ("", "people differ", "judge differs", "people and judge differ")


class Chip(NamedTuple):
    """A filter in force, and the link to the list without it."""

    text: str
    without: str


def look_of(verdict: str | None) -> tuple[str, str, str]:
    """Return class, sign and word of a verdict: none of them tells by colour alone."""
    word = NOT_SCORED if verdict in (None, UNSCORED) else str(verdict)
    look = LOOKS[word]
    return f"v-{word.replace(' ', '-').replace('_', '-')}", look.sign, word.replace("_", " ")


def show_claims(call: Call) -> Response:
    """Show a page of claims; without a run in the link, of the newest one."""
    if "run" not in call.query:
        runs = list_run_ids(call.store)[:1]
        kept = {name: value for name, value in call.query.items() if name in _FIELDS}
        if runs:
            return call.redirect(link_claims(run=runs[0], **kept))
    fields = _read_fields(call)
    wanted = _read_filter(call.store, fields)
    page = find_claims(
        call.store,
        wanted,
        limit=PAGE,
        after=_read_place(call, "after"),
        before=_read_place(call, "before"),
    )
    return call.render(
        "claims.html",
        fields=fields,
        wanted=wanted,
        page=page,
        counted=_describe_count(page),
        chips=_list_chips(fields, _read_round_title(call.store, fields.get("round"))),
        download=f"/claims.csv?{urlencode(fields)}",
        place=lambda place: f"{place.rank}-{place.number}",
        options=_list_options(call.store, wanted, fields),
        look=look_of,
        form=form,
        back=urlencode(fields),
        dispute_words=_DISPUTE_WORDS,
    )


def download_claims(call: Call) -> Response:
    """Send all claims that a link chooses as CSV, page by page."""
    wanted = _read_filter(call.store, _read_fields(call))
    if call.borrow is None:
        raise Refusal(503, "Downloads need the server.")
    return Response(
        body=b"",
        media_type="text/csv; charset=utf-8",
        headers={"content-disposition": 'attachment; filename="claims.csv"'},
        chunks=_write_csv(call, wanted),
    )


# What a link says.


def _read_fields(call: Call) -> dict[str, str]:
    """Return what the link says, without what is empty; an empty run means all runs.

    What was said is nothing to choose by as long as nobody is named who said it.
    """
    fields = {
        name: value[:_LONGEST_SEARCH]
        for name in _FIELDS
        if (value := call.query.get(name, "").strip()) or name == "run"
    }
    if "by" not in fields:
        for name in _SAYING:
            fields.pop(name, None)
    return fields


def _read_filter(store: Store, fields: Mapping[str, str]) -> ClaimFilter:
    run_id = fields["run"] or None
    if run_id and not store.query("select 1 from runs where run_id = :run", {"run": run_id}):
        raise Refusal(404, "There is no such run; choose one from the list of claims or runs.")
    basis = fields.get("basis") or (choose_judgement(store, run_id) if run_id else "grounded")
    dispute, decided = fields.get("disputed"), fields.get("decided")
    if dispute not in (None, *_DISPUTES) or basis not in _VERDICTS:
        raise Refusal(400, _NO_CHOICE)
    if decided not in (None, *_DECIDERS):
        raise Refusal(400, _NO_CHOICE)
    return ClaimFilter(
        run_id=run_id,
        judgement="closed_book" if basis == "closed_book" else "grounded",
        verdicts=_read_verdicts(fields.get("verdict", "")),
        groups=tuple(read_group(fields[name]) for name in GROUP_FIELDS if name in fields),
        source_id=fields.get("source"),
        labeler=fields.get("judge"),
        decided_by=decided,
        said=_read_said(fields),
        round_id=fields.get("round"),
        dispute=dispute,
        reason=fields.get("reason"),
        search=fields.get("q"),
    )


def _read_said(fields: Mapping[str, str]) -> SaidFilter | None:
    """Return what someone must have said of a claim; None where the link names nobody."""
    if "by" not in fields:
        return None
    scores = None
    if "score" in fields:
        found = _SCORES.fullmatch(fields["score"])
        if found is None:
            raise Refusal(400, _NO_CHOICE)
        scores = (float(found[1]), float(found[2]))
    return SaidFilter(
        labeler=fields["by"], verdicts=_read_verdicts(fields.get("said", "")), scores=scores
    )


def _read_verdicts(text: str) -> tuple[str, ...]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    found = [UNSUPPORTED if name == UNSUPPORTED_WORD else (name,) for name in names]
    return tuple(dict.fromkeys(verdict for part in found for verdict in part))


def _read_place(call: Call, name: str) -> ListPlace | None:
    text = call.query.get(name)
    if text is None:
        return None
    found = _PLACE.fullmatch(text)
    if not found:
        raise Refusal(400, "This link leads to no page of the list; start at its first page.")
    return ListPlace(int(found[1]), int(found[2]))


# What the page offers.


def _list_options(store: Store, wanted: ClaimFilter, fields: Mapping[str, str]) -> dict[str, Any]:
    """Return what each filter can be set to: value and title; what is set is always among them."""
    runs = [("", "All runs"), *((run, form.clean(run)) for run in list_run_ids(store))]
    verdicts = [
        ("", "Any verdict"),
        (UNSUPPORTED_WORD, "Not supported"),
        *((name, name.replace("_", " ").capitalize()) for name in _VERDICTS[wanted.judgement]),
        (UNSCORED, "Not scored"),
    ]
    groups = [("", "Any group")]
    groups += [(f"{n}={v}", form.clean(f"{n} = {v}")) for n, v in list_groups(store)]
    judges = [("", "Anyone")]
    judges += [
        (row[0], form.clean(row[0]))
        for row in store.query("select labeler from labelers order by labeler_kind desc, labeler")
    ]
    reasons = [("", "Any reason")]
    reasons += [(name, name.replace("_", " ")) for name in list_reasons(store)]
    disputes = [("", "Disputed or not"), *_DISPUTES.items()]
    options = {
        "run": runs, "verdict": verdicts, "group": groups, "judge": judges, "by": judges,
        "said": verdicts, "reason": reasons, "disputed": disputes,
    }  # fmt: skip
    return {name: _cut_options(offered, fields.get(name)) for name, offered in options.items()}


def _cut_options(offered: list[tuple[str, str]], chosen: str | None) -> list[tuple[str, str]]:
    shown = offered[:_MOST_OPTIONS]
    if chosen and chosen not in dict(shown):
        shown.append((chosen, form.clean(chosen)))
    return shown


def _list_chips(fields: Mapping[str, str], round_title: str | None) -> list[Chip]:
    chips = []
    for name, value in fields.items():
        if name in ("run", "said", "score"):
            continue
        text = _describe_saying(fields) if name == "by" else _describe_choice(name, value)
        if name == "round":
            text = f"In the round “{form.clean(round_title or value)}”"
        gone = _SAYING if name == "by" else (name,)
        rest = {other: kept for other, kept in fields.items() if other not in gone}
        chips.append(Chip(text, link_claims(**rest)))
    return chips


_CHIPS: Final = {
    "q": "“{}”", "source": "Source: {}", "judge": "Decided by: {}", "reason": "Not scored: {}",
    "basis": "Basis: {}",
}  # fmt: skip


def _describe_choice(name: str, value: str) -> str:
    """Say one filter in words."""
    text = _CHIPS.get(name, "{}").format(form.clean(value))
    for field, known in (("disputed", _DISPUTES), ("decided", _DECIDERS)):
        if name == field:
            return dict(known).get(value, text)  # type: ignore[call-overload,no-any-return]
    if name in GROUP_FIELDS:
        return " = ".join(form.clean(part) or "none" for part in value.split("=", 1))
    return _name_verdicts(text) if name in ("verdict", "reason", "basis") else text


def _describe_saying(fields: Mapping[str, str]) -> str:
    """Say who must have said what, as “judge:x said overreach, score 0.1 to 0.2”."""
    said = _name_verdicts(fields.get("said", ""))
    text = f"{form.clean(fields['by'])} {f'said {said}' if said else 'gave a verdict'}"
    low, _, high = fields.get("score", "").partition("-")
    return f"{text}, score {low} to {high}" if high else text


def _name_verdicts(text: str) -> str:
    text = text.replace(UNSUPPORTED_WORD, "not supported")
    return text.replace(UNSCORED, "not scored").replace("_", " ").replace(",", ", ")


def _read_round_title(store: Store, round_id: str | None) -> str | None:
    if round_id is None:
        return None
    sql = "select title from annotation_rounds where round_id = :round_id"
    found = store.query(sql, {"round_id": round_id})
    return found[0][0] if found else None


def _describe_count(page: ClaimPage) -> str:
    found = max(page.found, len(page.claims))
    if not found:
        return "No claims"
    return f"More than {found:,} claims" if page.more_found else form.pluralize(found, "claim")


# CSV.


def _write_csv(call: Call, wanted: ClaimFilter) -> Iterator[bytes]:
    """Yield the file in parts; each borrows a connection: none is kept for a slow reader."""
    assert call.borrow is not None
    yield _write_rows([_COLUMNS])
    after: ListPlace | None = None
    while True:
        with call.borrow() as store:
            page = find_claims(store, wanted, limit=_CSV_PAGE, after=after, count=False)
        if page.claims:
            yield _write_rows(map(_list_cells, page.claims))
        after = page.after
        if after is None:
            return


def _write_rows(rows: Any) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerows([guard_cell(cell) for cell in row] for row in rows)
    return text.getvalue().encode()


def _list_cells(claim: ListedClaim) -> list[object]:
    said = claim.deciding
    who = {kind: [o for o in claim.opinions if (o.label_kind == "verifier") == kind]
           for kind in (True, False)}  # fmt: skip
    values: dict[str, object] = {name: getattr(claim, name, "") for name in _COLUMNS}
    values.update(
        confidence=said.confidence if said else None,
        evidence=said.evidence if said else None,
        reason=said.reason if said else None,
        judges="; ".join(f"{o.labeler}: {o.verdict}" for o in who[True]),
        people="; ".join(f"{o.labeler}: {o.verdict}" for o in who[False]),
        dispute=_DISPUTE_WORDS[claim.dispute],
    )
    return [values[name] for name in _COLUMNS]


ROUTES: tuple[PageRoute, ...] = (
    PageRoute("GET", "/claims", show_claims, "adjudicator"),
    PageRoute("GET", "/claims.csv", download_claims, "adjudicator"),
)
