"""How agreement is said: advice, degenerate cases, and foreign text that stays text."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from msgspec.structs import replace
from rich.console import Console

from claimwise.agreement.coefficients import NO_OVERLAP, ONE_ITEM, ONE_VERDICT
from claimwise.agreement.report import (
    describe_advice,
    print_agreement,
    render_agreement_markdown,
    to_agreement_document,
)
from claimwise.agreement.values import (
    Agreement,
    AgreementFigures,
    DisputedClaim,
    Figure,
    PairFigures,
    SliceFigures,
    VerdictFigures,
    VerdictPair,
)

UNKNOWN = Figure(value=None, why=NO_OVERLAP)
KAPPA = Figure(value=0.5, low=0.3, high=0.7)


def make(kappa: Figure = KAPPA, **more: Any) -> Agreement:
    figures = AgreementFigures(claims=20, items=9, raw=Figure(value=0.7, low=0.5, high=0.8),
                      fleiss=kappa, alpha=kappa,
                      ac1=Figure(value=0.6, low=0.4, high=0.7))  # fmt: skip
    verdicts = ("supported", "unlinked", "overreach", "contradicted", "stale")
    found = Agreement(
        run_id="r", runs=("r",), judgement="grounded", round_id=None, confidence=0.95,
        labelers={"ana": 20, "ben": 20}, guides={"g1": 40}, one_label=3, several_labels=20,
        overall=figures, cohen=kappa,
        verdicts=tuple(VerdictFigures(verdict=verdict, labels=8, prevalence=0.2, kappa=kappa,
                                      same=kappa) for verdict in verdicts),
        pairs=(PairFigures(one="ana", other="ben", claims=20, items=9, raw=kappa, kappa=kappa),),
        matrix=((4, 1, 0, 0, 0),) * 5, by=(), slices=(), disagreements=(),
    )  # fmt: skip
    return replace(found, **more)


def dispute(**more: Any) -> DisputedClaim:
    return DisputedClaim(
        **{"run_id": "r", "item_id": "i", "claim_id": "c", "claim_text": "It is so.",
           "guide_version": "g1", "labels": (("ana", "supported"), ("ben", "stale")), **more}
    )  # fmt: skip


def say(agreement: Agreement, *, width: int = 100, encoding: str = "utf-8") -> str:
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    print_agreement(agreement, Console(file=file, width=width, highlight=False))
    file.flush()
    return file.buffer.getvalue().decode(encoding)


@pytest.mark.parametrize(
    ("kappa", "told"),
    [
        (UNKNOWN, "no claim has two labels"),
        (
            Figure(value=None, why=ONE_VERDICT),
            "Kappa is undefined: all labels are the same verdict",
        ),
        (Figure(value=0.4, why=ONE_ITEM), "all claims belong to one item"),
        (
            Figure(value=0.5, low=0.3, high=0.55),
            "Fix the guide first: kappa is at most 0.55",
        ),
        (Figure(value=0.7, low=0.62, high=0.8), "Good enough to measure with"),
        (Figure(value=0.9, low=0.83, high=0.95), "Strong agreement: kappa is at least 0.83"),
    ],
)
def test_what_to_do_comes_first(kappa: Figure, told: str) -> None:
    first, *_ = describe_advice(make(kappa))
    assert told in first


def test_the_way_to_the_sentence() -> None:
    claims = tuple(dispute(claim_id=str(number)) for number in range(3))
    pair = VerdictPair(one="supported", other="stale", claims=claims, rules=("R7 Old",))
    lines = list(describe_advice(make(disagreements=(pair,))))
    assert lines[1] == (
        "Start with supported or stale: 3 of the 3 claims on which people differ. "
        "Guidelines: R7 Old."
    )


def test_a_wide_interval_asks_for_more_claims() -> None:
    assert next(describe_advice(make())).startswith("Too few shared claims: on ")
    narrow = make(Figure(value=0.5, low=0.45, high=0.55))
    assert not any("shared claims" in line for line in describe_advice(narrow))


@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_figures_are_never_cut(width: int, encoding: str) -> None:
    said = say(make(), width=width, encoding=encoding)
    assert "0.30 to 0.70" in said
    assert max(map(len, said.splitlines())) <= width


def test_nothing_shown_is_nan_and_missing_parts_have_reasons() -> None:
    empty = AgreementFigures(
        claims=0, items=0, raw=UNKNOWN, fleiss=UNKNOWN, alpha=UNKNOWN, ac1=UNKNOWN
    )
    found = make(UNKNOWN, overall=empty, cohen=UNKNOWN, pairs=(), labelers={}, guides={})
    for text in (say(found), render_agreement_markdown(found)):
        assert "nan" not in text.lower()
        assert NO_OVERLAP in text
    assert json.loads(json.dumps(to_agreement_document(found)))["advice"] == "unknown"


def test_slices_that_stand_out_are_marked() -> None:
    figures = make().overall
    found = make(slices=(
        SliceFigures(slice={"stakes": "high"}, figures=figures, stands_out=True),
        SliceFigures(slice={"stakes": None}, figures=figures),
    ))  # fmt: skip
    lines = say(found).splitlines()
    [marked] = [line for line in lines if "stakes=high" in line]
    assert " ! " in marked
    assert any("adjusted for the number of groups" in line for line in lines)
    assert any("stakes=(unknown)" in line for line in lines)


def test_many_claims_and_slices_are_counted() -> None:
    claims = tuple(dispute(claim_id=str(number)) for number in range(12))
    slices = tuple(
        SliceFigures(slice={"domain": str(n)}, figures=make().overall) for n in range(30)
    )
    pair = VerdictPair(one="supported", other="stale", claims=claims)
    said = say(make(disagreements=(pair,), slices=slices))
    assert "and 7 more" in said
    assert "15 more: claimwise agreement --format json" in said


def test_foreign_text_stays_text() -> None:
    hostile = dispute(
        claim_text="\x1b[31mred\u202e <script>x</script> | [a](http://b) @team\n# top",
        labels=(("a|b", "supported"), ("<b>", "stale")),
    )
    pair = VerdictPair(one="supported", other="stale", claims=(hostile,), rules=("R1 <i>",))
    found = make(run_id="<run>", disagreements=(pair,), warnings=("<warn>\x07",))
    text, markdown = say(found), render_agreement_markdown(found)
    assert "\x1b" not in text + markdown
    assert "\u202e" not in text + markdown
    assert "\x07" not in text + markdown
    assert "<script>" not in markdown
    assert "<run>" not in markdown
    assert "\n# top" not in markdown
