"""Does the rule that proposes actions tell answers that decline from those that answer?

    python benchmarks/abstention.py ../shared/data            # half a minute
    python benchmarks/abstention.py ../shared/data --quick    # without the splitter as a rival

Three kinds of text. *Model answers*: what five systems said to questions of EVOUNA, and language
models to those of TruthfulQA (``dev``), cut into halves by question. The rule was written by
looking at one half. Of the other, 200 answers were drawn (160 that hold a word such as “know”,
“cannot” or “provide”, 40 that hold none) and labelled by one reader, an assistant model, before
the rule was run on them: an answer declines when it holds nothing that could be taken for an
answer to its question. After a first run on them (recall 0.65) the rule was changed once more, by
the first half alone. *Gold answers* (``abstention``), and the sentences of passages that hold
them: none of these declines, so every proposal is a false alarm. *Phrases* that decline, in seven
languages, written for this file: they show that a language works at all.

Rivals in the same run: the prefixes by which Zou et al. (2023, arXiv:2307.15043) recognise
refusals, and claimwise's own splitter, taking an answer without a factual claim for one that
declines. Rates over the drawn answers are weighted to the half that they stand for. The last line
printed is one JSON object.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import lzma
import random
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from claimwise.decompose import split_answer
from claimwise.text.abstention import RULE, propose_action

Declines = Callable[[str], bool]

# Of Zou et al. (2023), table of refusal prefixes, those that are no safety talk.
PREFIXES = (
    "I'm sorry", "I am sorry", "Sorry", "I apologize", "My apologies", "As an AI", "As a language",
    "I cannot", "I can't", "I'm unable", "I am unable", "I'm not able", "I do not", "I don't",
    "I'm just", "I'm an", "Unfortunately", "I'm not sure",
)  # fmt: skip
HINTS = re.compile(
    r"\b(know|sorry|unable|unclear|unknown|impossible|insufficient|uncertain|clarif\w*|comment"
    r"|apologi\w*|not (?:sure|clear|possible|enough|specified|mentioned|available|provided|aware"
    r"|certain|have|find|been|exist)|no (?:information|comment|record|data|answer|specific|mention"
    r"|one|clear|definitive|evidence|reliable)|can ?not|can't|couldn't|could not|don't|doesn't"
    r"|does not|do not|did not|didn't|as an ai|language model|context|question|provide|please"
    r"|more information|please)\b",
    re.IGNORECASE,
)
# Per set: how many answers with and without such a word were drawn.
DRAWN = {"evouna_qa_eval": (100, 25), "truthfulqa": (60, 15)}
# The labels of the drawn answers, by their place in the draw: these decline, all others answer.
DECLINING = frozenset(
    (7, 8, 16, 17, 18, 27, 33, 34, 37, 38, 40, 41, 43, 48, 51, 57, 58, 67, 70, 74, 87, 93, 98,
     131, 133, 137, 162, 171, 175, 176)
)  # fmt: skip
DIGEST = "4fc4d0a2200d5853"
PHRASES = {
    "English": ("The documents don't mention a refund.", "I don't have enough information to say."),
    "German": ("Dazu habe ich leider keine Informationen.", "Das weiß ich nicht."),
    "French": ("Je ne dispose pas de cette information.", "Les documents ne mentionnent pas cela."),
    "Spanish": ("No tengo información sobre eso.", "El documento no menciona el precio."),
    "Portuguese": ("Não tenho essa informação.", "Não sei."),
    "Chinese": ("抱歉，文档中没有提到这一点。", "我不知道。"),
    "Japanese": ("申し訳ありませんが、わかりません。", "資料に記載がありません。"),
}


class Drawn(NamedTuple):
    """An answer, whether it declines, and how many answers of its half it stands for."""

    text: str
    declines: bool
    weight: float


class Score(NamedTuple):
    """How a way of telling did on the drawn answers."""

    precision: float
    recall: float
    wrong: int


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    with lzma.open(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def draw_answers(folder: Path) -> list[Drawn]:
    """Draw the labelled answers again: the same ones, as the seed and the data say."""
    seen: set[str] = set()
    pools: dict[tuple[str, bool], list[str]] = {}
    for name in DRAWN:
        for row in read_rows(folder / "dev" / f"{name}.jsonl.xz"):
            text = " ".join((row.get("claim") or "").replace("’", "'").split())
            if not row.get("claim") or text.lower() in seen:
                continue
            seen.add(text.lower())
            if hashlib.sha256(row["group"].encode()).digest()[0] % 2:
                pools.setdefault((name, bool(HINTS.search(text))), []).append(text)
    chance = random.Random(7)
    drawn = []
    for name, sizes in DRAWN.items():
        for hinted, size in zip((True, False), sizes, strict=True):
            pool = pools[name, hinted]
            drawn += [(text, len(pool) / size) for text in chance.sample(pool, size)]
    digest = hashlib.sha256("\n".join(text for text, _ in drawn).encode()).hexdigest()[:16]
    if digest != DIGEST:
        raise SystemExit(f"the drawn answers are not those that were labelled: {digest}")
    return [Drawn(text, n in DECLINING, weight) for n, (text, weight) in enumerate(drawn)]


def read_gold(folder: Path) -> list[str]:
    """Return gold answers, and for SQuAD also the sentences that hold them."""
    found = []
    for name in ("squad2", "selfaware"):
        for row in read_rows(folder / "abstention" / f"{name}.jsonl.xz"):
            gold = row.get("gold_answer")
            if not row["answerable"] or not gold:
                continue
            found.append(str(gold))
            sentences = re.split(r"(?<=[.!?])\s+", row.get("document") or "")
            found += [sentence for sentence in sentences if str(gold) in sentence][:1]
    return found


def score(answers: list[Drawn], declines: Declines) -> Score:
    said = [declines(answer.text) for answer in answers]
    pairs = list(zip(answers, said, strict=True))
    right = sum(one.weight for one, yes in pairs if yes and one.declines)
    called = sum(one.weight for one, yes in pairs if yes)
    wanted = sum(one.weight for one in answers if one.declines)
    return Score(right / called, right / wanted, sum(one.declines != yes for one, yes in pairs))


def has_no_claim(text: str) -> bool:
    return all(claim.claim_type == "non_factual" for claim in split_answer(text))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="the folder with dev and abstention")
    parser.add_argument("--quick", action="store_true", help="without the splitter as a rival")
    options = parser.parse_args()
    answers, gold = draw_answers(options.folder), read_gold(options.folder)
    ways: dict[str, Declines] = {
        f"the rule ({RULE})": lambda text: propose_action(text) != "answer",
        "refusal prefixes (Zou et al. 2023)": lambda text: text.startswith(PREFIXES),
    }
    if not options.quick:
        ways["no factual claim (the splitter)"] = has_no_claim
    print(
        f"{len(answers)} model answers, {sum(a.declines for a in answers)} decline; "
        f"{len(gold):,} gold texts"
    )
    figures: dict[str, Any] = {}
    for name, declines in ways.items():
        found = score(answers, declines)
        begin = time.process_time()
        alarms = sum(map(declines, gold))
        took = (time.process_time() - begin) / len(gold)
        print(
            f"{name}: precision {found.precision:.1%}, recall {found.recall:.1%}, "
            f"{found.wrong} of {len(answers)} wrong; {alarms} of {len(gold):,} gold texts called "
            f"declining; {took * 1e6:.0f} µs per text"
        )
        figures[name] = {**found._asdict(), "false_alarms": alarms}
    missed = [p for texts in PHRASES.values() for p in texts if propose_action(p) != "abstain"]
    print(f"phrases in {len(PHRASES)} languages not recognised: {missed or 'none'}")
    rule, prefixes = list(figures.values())[:2]
    holds = (
        rule["precision"] >= 0.9
        and rule["recall"] >= 0.8
        and rule["wrong"] < prefixes["wrong"]
        and rule["false_alarms"] <= 0.002 * len(gold)
        and not missed
    )
    print(json.dumps({"figures": figures, "gold": len(gold), "missed": missed, "holds": holds}))


if __name__ == "__main__":
    main()
