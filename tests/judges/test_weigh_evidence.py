"""Every feature on a hand-made example, and how features become probabilities."""

from __future__ import annotations

import json
import math
from importlib.resources import files

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from claimwise.judges.combine import LogisticModel, Tier, add_encoder, load_combiner, sum_up
from claimwise.judges.evidence import (
    FEATURES,
    EvidenceIndex,
    LinkedSentence,
    split_parts,
    weigh_part,
    write_numbers_alike,
)
from claimwise.judges.reading import TextFacts
from judges.judged import make_source

TOWERS = (
    "The Kestrel Tower is 139 m tall. Masons built it from red sandstone in 1874. "
    "The council closed the old harbour bridge on 3 May 1990."
)


def weigh(claim: str, text: str = TOWERS) -> dict[str, float]:
    part = weigh_part(claim, EvidenceIndex([make_source(text)]))
    assert len(part.features) == len(FEATURES)
    return dict(zip(FEATURES, part.features, strict=True))


def test_recall_counts_words_anywhere() -> None:
    assert weigh("The Kestrel Tower is red.")["recall"] == 1
    assert weigh("The Kestrel Tower is blue.")["recall"] == pytest.approx(2 / 3)
    assert weigh("Pirates sang.")["recall"] == 0
    assert weigh("It is.")["recall"] == 0


def test_best_recall_looks_at_one_sentence_and_digest_recall_at_a_few() -> None:
    found = weigh("The Kestrel Tower was built by masons.")
    assert found["digest_recall"] == 1
    assert found["best_recall"] == 0.5
    far = " ".join(f"Kestrel sentence {n}." for n in range(30)) + " Zebras slept."
    assert weigh("The Kestrel saw a kestrel.", far)["digest_recall"] == pytest.approx(2 / 3)


def test_pairs_recall_sees_the_order_of_words() -> None:
    assert weigh("red sandstone")["pairs_recall"] == 1
    assert weigh("sandstone red")["pairs_recall"] == 0
    assert weigh("word")["pairs_recall"] == 0


def test_numbers() -> None:
    found = weigh("The Kestrel Tower is 139 m tall.")
    assert (found["numbers_found"], found["numbers_missing"], found["numbers_nowhere"]) == (1, 0, 0)
    found = weigh("The Kestrel Tower is 0.139 km tall.")
    assert (found["numbers_found"], found["numbers_missing"]) == (1, 0)
    found = weigh("The Kestrel Tower is 200 m tall.")
    assert (found["numbers_found"], found["numbers_missing"], found["numbers_nowhere"]) == (0, 1, 1)
    found = weigh("The bridge closed on 4 May 1990.")
    assert (found["numbers_found"], found["numbers_missing"], found["numbers_nowhere"]) == (0, 1, 0)
    found = weigh("The bridge closed on May 3, 1990.")
    assert (found["numbers_found"], found["numbers_missing"]) == (1, 0)
    text = TOWERS + " There are 77 cats."
    assert weigh("The Kestrel Tower is 77 m tall.", text)["numbers_nowhere"] == 0


def test_a_year_is_given_by_a_full_date() -> None:
    assert weigh("The council closed the bridge in 1990.")["numbers_missing"] == 0


def test_names() -> None:
    found = weigh("The tower was drawn by Carl Holm near Kestrel.")
    assert found["names_missing"] == 1
    assert weigh("The tower is tall.")["names_missing"] == 0


def test_negation_counts_where_the_words_agree() -> None:
    assert weigh("The Kestrel Tower is not 139 m tall.")["negation_differs"] == 1
    assert weigh("The Kestrel Tower is 139 m tall.")["negation_differs"] == 0
    assert weigh("Pirates never sang of a tower.")["negation_differs"] == 0
    denied = "The Kestrel Tower is not tall."
    assert weigh("The Kestrel Tower is tall.", denied)["negation_differs"] == 1
    assert weigh("The Kestrel Tower isn't tall.", denied)["negation_differs"] == 0


def test_opposites() -> None:
    assert weigh("The council opened the old harbour bridge.")["opposites"] == 1
    assert weigh("The council closed the old harbour bridge.")["opposites"] == 0


@pytest.mark.parametrize("claim", ["", "…", "The tower.", "\x00"])
def test_nothing_to_rest_on(claim: str) -> None:
    assert all(math.isfinite(value) for value in weigh(claim, "").values())


def test_a_claim_is_split_into_sentences() -> None:
    assert split_parts("It is tall. It has red walls.") == ["It is tall.", "It has red walls."]
    assert split_parts("It is tall. Very tall.") == ["It is tall. Very tall."]
    assert split_parts("") == [""]


def make_part(**features: float) -> LinkedSentence:
    row = tuple(features.get(name, 0.0) for name in FEATURES)
    return LinkedSentence(TextFacts(""), (), (), row)


def test_parts_are_summed_up() -> None:
    parts = [
        make_part(recall=1.0, best_recall=0.8, numbers_missing=1),
        make_part(recall=0.5, best_recall=0.4, numbers_missing=5, opposites=1),
    ]
    total = sum_up(parts)
    assert total["recall"] == 0.75
    assert total["best_recall"] == pytest.approx(0.6)
    assert total["numbers_missing"] == 2  # capped: five do not say more than two
    assert total["opposites"] == 1


def test_the_encoder_counts_by_its_weakest_part() -> None:
    logits = np.array([[5.0, 0.0, 0.0], [0.0, 3.0, 0.0]], dtype=np.float32)
    found = add_encoder({"recall": 0.5}, logits)
    assert found["recall"] == 0.5
    assert found["encoder"] == pytest.approx(-math.log(math.exp(3) + 1), abs=1e-5)
    assert found["encoder_against"] == pytest.approx(3 - math.log(2), abs=1e-5)
    extreme = add_encoder({}, np.array([[900.0, -900.0, 0.0]], dtype=np.float32))
    assert extreme == {"encoder": 7.0, "encoder_against": -7.0}


FOR = {"recall", "digest_recall", "best_recall", "pairs_recall", "encoder"}
AGAINST = {
    "encoder_against", "numbers_missing", "numbers_nowhere", "names_missing", "negation_differs",
    "opposites",
}  # fmt: skip


@pytest.mark.parametrize("name", ["lexical", "embedded"])
def test_every_weight_has_the_right_sign(name: str) -> None:
    """More agreement never lowers the probability of support, more disagreement never raises it."""
    tier: Tier = getattr(load_combiner(), name)
    for feature, weight in zip(tier.supports.features, tier.supports.weights, strict=True):
        assert feature in FOR | AGAINST
        assert weight >= 0 if feature in FOR else weight <= 0, feature
    for feature, weight in zip(tier.contradicts.features, tier.contradicts.weights, strict=True):
        if feature in AGAINST:
            assert weight >= 0, feature


@pytest.mark.parametrize("name", ["lexical", "embedded"])
@given(data=st.data())
def test_probabilities_add_up_to_one(name: str, data: st.DataObject) -> None:
    tier: Tier = getattr(load_combiner(), name)
    needed = {*tier.supports.features, *tier.contradicts.features}
    values = {feature: data.draw(st.floats(-50, 50)) for feature in sorted(needed)}
    scores = tier.score(values)
    assert scores.supports + scores.contradicts + scores.neither == pytest.approx(1)
    assert all(-1e-12 <= p <= 1 for p in (scores.supports, scores.contradicts, scores.neither))


def test_the_shipped_numbers_are_the_fitted_ones() -> None:
    raw = json.loads((files("claimwise.judges") / "data" / "combiner.json").read_text())
    combiner = load_combiner()
    assert combiner.version == raw["version"]
    for name in ("lexical", "embedded"):
        tier: Tier = getattr(combiner, name)
        assert tier.threshold == raw[name]["threshold"]
        assert 0 < tier.threshold < 1
        values = {
            feature: 0.1 * (n + 1)
            for n, feature in enumerate(
                sorted({*raw[name]["supports"]["features"], *raw[name]["contradicts"]["features"]})
            )
        }
        for which in ("supports", "contradicts"):
            model = raw[name][which]
            total = model["bias"] + sum(
                weight * values[feature]
                for feature, weight in zip(model["features"], model["weights"], strict=True)
            )
            found: LogisticModel = getattr(tier, which)
            assert found.apply(values) == pytest.approx(1 / (1 + math.exp(-total)))
    assert "encoder" not in combiner.lexical.supports.features


def test_the_tiers_ask_only_for_features_that_there_are() -> None:
    known = set(sum_up([make_part()]))
    combiner = load_combiner()
    for model in (combiner.lexical.supports, combiner.lexical.contradicts):
        assert set(model.features) <= known
    known |= set(add_encoder({}, np.zeros((1, 3), dtype=np.float32)))
    for model in (combiner.embedded.supports, combiner.embedded.contradicts):
        assert set(model.features) <= known


def test_neighbours_are_read_only_where_the_digest_lacks_words() -> None:
    """A paraphrase may rest on the sentence beside the one that shares its words."""
    filler = " ".join(
        f"Clerk number{n} filed paper{n} about cargo{n} on shelf{n}." for n in range(40)
    )
    index = EvidenceIndex([make_source(f"{TOWERS} {filler}")])
    told = weigh_part("Masons built it from red sandstone in 1874.", index)
    retold = weigh_part("Masons raised a landmark for worshippers in 1874.", index)
    assert list(index.read_around(told)) == list(told.digest)
    around = {0, 1, 2}  # the masons' sentence is the second
    assert not around <= set(retold.digest)
    assert around <= set(index.read_around(retold))


@pytest.mark.parametrize(
    ("claim", "passage", "read"),
    [
        ("He scored 1930 points.", "He scored 1,930 points.", "He scored 1,930 points."),
        ("It has 1,930 seats.", "All 1930 seats are sold.", "It has 1930 seats."),
        ("In 1930 it had 1930 seats.", "In 1930 it had 1,930 seats.", "In 1930 it had 1930 seats."),
        ("He scored 1931 points.", "He scored 1,930 points.", "He scored 1931 points."),
        ("It cost 1930.5 euros.", "It cost 1,930 euros.", "It cost 1930.5 euros."),
        ("The code is A1930.", "It has 1,930 seats.", "The code is A1930."),
    ],
)
def test_numbers_are_read_as_the_passage_writes_them(claim: str, passage: str, read: str) -> None:
    assert write_numbers_alike(claim, passage) == read


def test_a_question_is_read_with_its_answer() -> None:
    asked = "How tall is the Heron Tower? It is 87 m tall."
    assert split_parts(asked) == [asked]
    assert split_parts(f"{asked} It opened in 1940.") == [asked, "It opened in 1940."]
