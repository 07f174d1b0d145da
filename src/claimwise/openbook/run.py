"""Judges the claims of a stored run against a corpus, whatever its system was given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, cast

from msgspec.structs import replace as replace_fields

from claimwise.checking.engine import judge_run
from claimwise.checking.evidence import show_whole
from claimwise.checking.queries import AnswerKey, JudgingScope, count_reason
from claimwise.checking.run import VerifyResult, describe_verifier, make_verify_result
from claimwise.checking.tasks import (
    ClaimReader,
    JudgeTask,
    Labels,
    SeenAnswers,
    TaskOutcome,
    bind_job,
)
from claimwise.errors import StoreError
from claimwise.judges.corpus import Corpus
from claimwise.judges.judge import Verifier
from claimwise.openbook.answer import SILENT, judge_by_corpus, plan_by_corpus
from claimwise.store import Store
from claimwise.store.corpora import read_texts
from claimwise.types.corpus import Retrieval
from claimwise.types.llm import LlmCall
from claimwise.types.progress import Watch
from claimwise.types.rows import Judgement, Labeler, Row, Run, Source

if TYPE_CHECKING:
    from claimwise.checking.engine import Flips
    from claimwise.judges.grounded import GroundedJudge

_USUAL = Retrieval()


class OpenBookRunResult(NamedTuple):
    """A judged run; how many of its claims the corpus is silent about; how steady the judge is."""

    result: VerifyResult
    no_passage: int
    flips: Flips | None


def openbook_run(
    store: Store,
    run_id: str,
    judge: OpenBookRun,
    *,
    repeats: int = 1,
    threads: int = 1,
    again: bool = False,
    watch: Watch | None = None,
) -> OpenBookRunResult:
    """Judge every claim of a run by a corpus that the judge has not judged yet: see ``judge_run``.

    Raises:
        StoreError: there is no such run, it has no answers, or a document of the corpus has the id
            of a source with another text.
        PromptError: the labels were made with other settings, and ``again`` is not given.
    """
    judged = judge_run(
        store, run_id, judge, repeats=repeats, threads=threads, again=again, watch=watch
    )
    result = make_verify_result(judge.verifier, judge.row, judged.result, judged.deciding.seen)
    silent = count_reason(store, judged.judging, SILENT)
    return OpenBookRunResult(result, silent, judged.result.flips)


def name_labeler(way: str, labeler: str) -> str:
    """Return the name under which a judge labels in another way: ``judge:openbook:…``."""
    kind, _, rest = labeler.partition(":")
    return f"{kind}:{way}:{rest}"


@dataclass(frozen=True, slots=True)
class OpenBookRun:
    """Judges a run's claims by the best passages of a corpus.

    Its labels are grounded ones of a labeler of its own: the same verifier against what a system
    was given is another one. A changed corpus is not a changed judge.
    """

    verifier: Verifier
    corpus: Corpus
    how: Retrieval = _USUAL

    @property
    def judgement(self) -> Judgement:
        """Its labels are grounded ones."""
        return "grounded"

    @property
    def row(self) -> Labeler:
        """The verifier and the search as a labeler."""
        row = describe_verifier(self.verifier)
        settings = [row.prompt_ver, self.how.describe()]
        return replace_fields(
            row,
            labeler=name_labeler("openbook", row.labeler),
            prompt_ver="; ".join(part for part in settings if part),
        )

    def open_session(self, store: Store, judging: JudgingScope) -> OpenBookSession:
        """Begin a round."""
        sources = CorpusSources(store, judging.run, self.corpus)
        return OpenBookSession(self, ClaimReader(store, judging), judging, sources)

    def repeat_as(self, number: int) -> OpenBookRun:
        """Return the judge for a further round: only a language model may say otherwise."""
        judge = cast("GroundedJudge", self.verifier).repeat_as(number)
        return OpenBookRun(judge, self.corpus, self.how)


class CorpusSources:
    """The documents of a corpus as sources of a run: those it lacks are added when first cited.

    A label's span stands in a document of the run's corpus version. A document of that id with
    another text would make it stand somewhere else, so that is refused before anything is judged.

    Raises:
        StoreError: a document has the id of a source with another text.
    """

    def __init__(self, store: Store, run: Run, corpus: Corpus) -> None:
        self._version = run.corpus_ver
        self._documents = {document.source_id: document for document in corpus.documents}
        stored = read_texts(store, run.corpus_ver, self._documents)
        self._there = set(stored)
        for source_id, text in stored.items():
            if text != self._documents[source_id].source_text:
                raise StoreError(
                    f"{store.place}: the corpus has another text of “{source_id}” than the "
                    f"sources of corpus version {run.corpus_ver}, which run {run.run_id} reads: "
                    "rename the document; nothing was judged"
                )

    def find(self, source_id: str) -> Source | None:
        """Return a document of the corpus."""
        return self._documents.get(source_id)

    def add(self, source_id: str) -> Iterator[Source]:
        """Yield a document and those that supersede it, as far as they are not there yet."""
        document = self._documents.get(source_id)
        while document is not None and document.source_id not in self._there:
            self._there.add(document.source_id)
            yield replace_fields(document, corpus_ver=self._version)
            document = self._documents.get(document.superseded_by or "")


class OpenBookSession:
    """One round: claims go in, verdicts with spans in the corpus's documents come out."""

    def __init__(
        self, run: OpenBookRun, reader: ClaimReader, judging: JudgingScope, sources: CorpusSources
    ) -> None:
        self.seen = SeenAnswers()
        self._run = run
        self._reader = reader
        self._sources = sources
        self._labels = Labels(judging, reader, (run.verifier.name, run.verifier.labeler))

    def read(self, keys: Sequence[AnswerKey]) -> list[JudgeTask]:
        """Return the answers with something open."""
        return self._reader.read(keys)

    def plan(self, work: JudgeTask) -> list[LlmCall]:
        """Return the calls about one answer."""
        request = work.job.request
        return plan_by_corpus(
            bind_job(work.job),
            self._run.corpus,
            cast("GroundedJudge", self._run.verifier),
            answer=request.answer,
            question=request.question,
            how=self._run.how,
        )

    def ask(self, work: JudgeTask) -> TaskOutcome:
        """Look up and judge the claims of one answer."""
        request = work.job.request
        found, warnings = judge_by_corpus(
            bind_job(work.job),
            self._run.corpus,
            self._run.verifier,
            answer=request.answer,
            question=request.question,
            actions=request.actions,
            as_of=request.as_of,
            how=self._run.how,
        )
        return TaskOutcome([one.judged for one in found], warnings)

    def make_rows(self, work: JudgeTask, outcome: TaskOutcome, at: datetime) -> Iterator[Row]:
        """Yield documents that are cited for the first time, claims, and labels or failures."""
        self.seen.add(work, outcome)
        spans = (judged.span for judged in outcome.verdicts)
        cited = dict.fromkeys(span.source_id for span in spans if span is not None)
        for source_id in cited:
            yield from self._sources.add(source_id)
        documents = [found for one in cited if (found := self._sources.find(one)) is not None]
        placed = replace(work, evidence=tuple(map(show_whole, documents)))
        yield from self._labels.make_rows(placed, outcome, at)
