"""The embedded verifier: real verdicts offline, in two tiers.

"lexical" weighs words, numbers, dates, names and negation and needs the base install alone;
"embedded" adds the encoder's reading of the digest, or of a short source. Both give calibrated
probabilities from the same linked evidence and decide by the same rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from claimwise.judges.binding import Misbinding, find_misbinding
from claimwise.judges.combine import Tier, add_encoder, load_combiner, sum_up
from claimwise.judges.decide import Weighed, decide_claim, decide_unasked
from claimwise.judges.encoder import Encoder, load_encoder
from claimwise.judges.evidence import EvidenceIndex, LinkedSentence, split_parts, weigh_part
from claimwise.judges.language import is_english
from claimwise.types.rows import Source
from claimwise.types.verdicts import AnswerClaim, CheckRequest, ClaimVerdict, Scores

# What is left of the probability of support where a value belongs to something else.
_MISBOUND = 0.1
# Below this probability of support nobody takes a swapped value for the right one.
_UNLIKELY = 0.2
# The same words for every answer: a run shows them once, with the number of answers.
_FALLBACK = (
    "some claims, or their sources, are not English: the encoder reads English only, so these got "
    "the lexical judge, which is less exact and whose accuracy was measured on English"
)


class EncoderReading(NamedTuple):
    """The full tier's probabilities, and the encoder's log-odds for and against the claim."""

    scores: Scores
    towards: float
    against: float


class EmbeddedVerifier:
    """Judges claims by linked evidence; with an encoder the full tier, without it the lexical."""

    def __init__(self, encoder: Encoder | None, *, binds_values: bool = True) -> None:
        combiner = load_combiner()
        self._encoder = encoder
        self._binds_values = binds_values
        self._combiner = combiner
        self.name: str = "embedded" if encoder else "lexical"
        self.version: str = combiner.version
        self.labeler: str = f"verifier:{self.name}-{combiner.version}"
        self.model: str | None = f"claimwise-encoder-{combiner.version}" if encoder else None
        self.threshold: float = self._tier.threshold
        self._last: tuple[tuple[Source, ...], EvidenceIndex] | None = None

    @property
    def agreement(self) -> str | None:
        """How far it agrees with people, as measured for the model card."""
        from claimwise.judges.card import describe_card_agreement

        return describe_card_agreement(self.name)

    def describe_agreement(self, verdicts: Sequence[ClaimVerdict]) -> str | None:
        """Return how far the tiers that judged some claims agree with people."""
        from claimwise.judges.card import describe_card_agreement

        judged = [verdict.instrument for verdict in verdicts if verdict.scores is not None]
        fallen = judged.count("lexical") if self._encoder else 0
        if not fallen:
            return self.agreement
        lexical = f"{describe_card_agreement('lexical')}, all English"
        if fallen == len(judged):
            return f"by the lexical judge: {lexical}"
        return f"{self.agreement}; {fallen} of {len(judged)} claims by the lexical judge: {lexical}"

    @property
    def _tier(self) -> Tier:
        return self._combiner.embedded if self._encoder else self._combiner.lexical

    def score_claims(self, claims: Sequence[str], document: str) -> list[Scores | None]:
        """Return calibrated probabilities for claims about one document.

        A claim without any word can't be judged: None.
        """
        source = Source(source_id="document", corpus_ver="-", source_text=document)
        weighed = self._weigh(claims, EvidenceIndex([source]))
        return [None if w is None else w.scores for w in weighed]

    def judge_answer(
        self, claims: Sequence[AnswerClaim], request: CheckRequest
    ) -> tuple[list[ClaimVerdict], list[str]]:
        """Return a verdict for every claim, in order, and warnings for the reader."""
        index = self._index(request.sources)
        as_of = request.as_of or datetime.now(UTC).date()
        asked = [c for c in claims if c.claim_type not in ("non_factual", "action")]
        weighed = dict(
            zip(map(id, asked), self._weigh([c.wording for c in asked], index), strict=True)
        )
        verdicts: list[ClaimVerdict] = []
        for claim in claims:
            if (found := weighed.get(id(claim))) is None:
                verdicts.append(decide_unasked(claim, request))
            else:
                verdicts.append(decide_claim(claim, found, index, as_of))
        fallen = any(w is not None and w.tier != self.name for w in weighed.values())
        return verdicts, [_FALLBACK] if fallen else []

    def _index(self, sources: tuple[Source, ...]) -> EvidenceIndex:
        """Return the sources' index; answers that share their sources share it."""
        if self._last is None or self._last[0] is not sources:
            self._last = (sources, EvidenceIndex(sources))
        return self._last[1]

    def _weigh(self, claims: Sequence[str], index: EvidenceIndex) -> list[Weighed | None]:
        """Weigh the evidence for every claim; the encoder is asked about all of them at once."""
        parts = [[weigh_part(text, index) for text in split_parts(claim)] for claim in claims]
        values = [sum_up(some) for some in parts]
        lexical = [self._combiner.lexical.score(v) for v in values]
        asked = [
            n
            for n, some in enumerate(parts)
            if self._encoder is not None
            and lexical[n].supports >= self._combiner.hopeless
            and self._reads(some, index)
        ]
        found: dict[int, EncoderReading] = {}
        if self._encoder is not None and asked:
            pairs = [index.pair_up(part) for n in asked for part in parts[n]]
            logits = self._encoder.score_pairs(pairs)
            at = 0
            for n in asked:
                size = len(parts[n])
                told = add_encoder(values[n], logits[at : at + size])
                found[n] = EncoderReading(
                    self._combiner.embedded.score(told), told["encoder"], told["encoder_against"]
                )
                at += size
        return [self._make(parts[n], lexical[n], found.get(n), index) for n in range(len(claims))]

    def _reads(self, parts: Sequence[LinkedSentence], index: EvidenceIndex) -> bool:
        """Tell whether the encoder can read a claim and its passage: only English."""
        sentences = [index.sentences[p] for part in parts for p in index.read_around(part)]
        stems = [stem for part in parts for stem in part.reading.stems]
        stems += [stem for sentence in sentences for stem in sentence.stems]
        texts = [part.text for part in parts] + [sentence.text for sentence in sentences]
        return is_english(stems, " ".join(texts))

    def _make(
        self,
        parts: list[LinkedSentence],
        lexical: Scores,
        embedded: EncoderReading | None,
        index: EvidenceIndex,
    ) -> Weighed | None:
        if not any(part.reading.stems for part in parts):
            return None
        likely = max(lexical.supports, embedded.scores.supports if embedded else 0.0)
        asked = self._binds_values and likely >= _UNLIKELY
        misbound = find_misbound(parts, index) if asked else None
        if misbound is not None:
            lexical = doubt(lexical)
            embedded = embedded and embedded._replace(scores=doubt(embedded.scores))
        if embedded is not None:
            scores, towards, against = embedded
            threshold = self._combiner.embedded.threshold
            return Weighed(parts, scores, threshold, "embedded", towards, against, misbound)
        # Where the cheap evidence is hopeless the encoder was not needed: still the full tier.
        fell_back = self._encoder is not None and not self._reads(parts, index)
        tier = "lexical" if self._encoder is None or fell_back else self.name
        threshold = self._combiner.lexical.threshold
        return Weighed(parts, lexical, threshold, tier, misbound=misbound)


def find_misbound(parts: Sequence[LinkedSentence], index: EvidenceIndex) -> Misbinding | None:
    """Return the first value of a claim that the sources give for something else, or None."""
    if len(parts) == 2 and parts[0].text.rstrip().endswith("?"):
        # A question and its answer: “Who designed it? Anna Berg.” says one thing.
        parts = [weigh_part(" ".join(part.text for part in parts), index)]
    found = (find_misbinding(part, index) for part in parts)
    return next((one for one in found if one is not None), None)


def doubt(scores: Scores) -> Scores:
    """Return the probabilities of a claim whose value belongs to something else."""
    supports = _MISBOUND * scores.supports
    contradicts = scores.contradicts + scores.supports - supports
    return Scores(supports=supports, contradicts=contradicts, neither=scores.neither)


def load_embedded(name: str) -> EmbeddedVerifier:
    """Return the tier of that name: "lexical" or "embedded"."""
    return EmbeddedVerifier(load_encoder() if name == "embedded" else None)
