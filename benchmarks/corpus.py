"""How long does it take to index a corpus, and to look a claim up in it?

    python benchmarks/corpus.py            # 50,000 passages, under two minutes
    python benchmarks/corpus.py --quick    # 5,000 passages, below 30 seconds

Text is made up: words with the frequencies of a natural language, in sentences of 19 words. The
rival is the index that `check` uses for the few sources of one answer, over the same documents.
The last line printed is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import random
import time

from claimwise.judges.corpus import Corpus
from claimwise.judges.link import SourceIndex
from claimwise.text.words import read_stems
from claimwise.types.rows import Source

LETTERS = "abcdefghijklmnopqrstuvwxyz"
SENTENCE, DOCUMENT = 19, 950  # words
QUERIES = 200


def make_documents(passages: int) -> list[Source]:
    """Return documents of about ten passages each."""
    chance = random.Random(0)
    words = ["".join(chance.choices(LETTERS, k=chance.randint(3, 9))) for _ in range(60_000)]
    weights = [1 / (rank + 10) for rank in range(len(words))]
    documents = []
    for number in range(passages // 10):
        drawn = chance.choices(words, weights, k=DOCUMENT)
        cut = (drawn[at : at + SENTENCE] for at in range(0, DOCUMENT, SENTENCE))
        text = " ".join(f"{' '.join(sentence).capitalize()}." for sentence in cut)
        documents.append(Source(source_id=str(number), corpus_ver="-", source_text=text))
    return documents


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="5,000 passages")
    quick = parser.parse_args().quick
    documents = make_documents(5_000 if quick else 50_000)
    claims = [document.source_text[:120] for document in documents[:QUERIES]]

    begin = time.perf_counter()
    corpus = Corpus(documents)
    indexing = time.perf_counter() - begin
    begin = time.perf_counter()
    for claim in claims:
        corpus.find_passages(claim)
    searching = (time.perf_counter() - begin) / len(claims)

    begin = time.perf_counter()
    rival = SourceIndex(documents)
    rival_indexing = time.perf_counter() - begin
    begin = time.perf_counter()
    for claim in claims:
        rival.rank(read_stems(claim))
    rival_searching = (time.perf_counter() - begin) / len(claims)

    print(f"{corpus.info.passages:,} passages, {corpus.info.characters:,} characters")
    print(f"Corpus       index {indexing:6.1f} s   a claim {1000 * searching:8.2f} ms")
    print(f"SourceIndex  index {rival_indexing:6.1f} s   a claim {1000 * rival_searching:8.2f} ms")
    print(
        json.dumps(
            {
                "passages": corpus.info.passages,
                "index_seconds": round(indexing, 2),
                "search_ms": round(1000 * searching, 3),
                "rival_index_seconds": round(rival_indexing, 2),
                "rival_search_ms": round(1000 * rival_searching, 3),
                "holds": indexing < 60 and searching < 0.05,
            }
        )
    )


if __name__ == "__main__":
    main()
