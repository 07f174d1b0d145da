"""The index of a corpus is built once for what its documents say."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import claimwise.judges.corpus as corpora
import claimwise.judges.kept_index as kept_index
from claimwise.judges.corpus import Corpus
from claimwise.openbook.answer import read_corpus, read_stored_corpus
from claimwise.store import Store
from claimwise.types.rows import Source
from small_data import load, source

DOCUMENTS = [
    Source(source_id="tower", corpus_ver="-", source_text="The tower is 139 m tall. It is old."),
    Source(source_id="fares", corpus_ver="-", title="Fares", source_text="Entry costs 5 euros."),
    Source(source_id="odd", corpus_ver="-", source_text="Half a letter: x\ud83dy. Ünïcödé 𝔘."),
]
CLAIM = "Entry to the tower costs 5 euros."


class Builds:
    """Counts the documents that were cut."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.documents = 0
        cut = corpora.cut_passages

        def count(text: str) -> Iterator[tuple[int, int]]:
            self.documents += 1
            return cut(text)

        monkeypatch.setattr(corpora, "cut_passages", count)


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> Builds:
    return Builds(monkeypatch)


def test_an_index_is_built_once_and_finds_the_same(tmp_path: Path, builds: Builds) -> None:
    first = Corpus(DOCUMENTS, folder=tmp_path / "new")
    assert builds.documents == 3
    second = Corpus(DOCUMENTS, folder=tmp_path / "new")
    assert builds.documents == 3
    assert second.info == first.info
    assert second.find_passages(CLAIM) == first.find_passages(CLAIM) != []
    assert second.find_passages("Zeppelins carried mail.") == []
    assert Corpus(DOCUMENTS).find_passages(CLAIM) == first.find_passages(CLAIM)


def test_an_empty_corpus_is_kept_too(tmp_path: Path) -> None:
    for _ in range(2):
        assert Corpus([], folder=tmp_path).find_passages(CLAIM) == []
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    "changed",
    [
        [*DOCUMENTS[:2]],
        [DOCUMENTS[1], DOCUMENTS[0], DOCUMENTS[2]],
        [Source(source_id="tower", corpus_ver="-", source_text="Another text."), *DOCUMENTS[1:]],
        [DOCUMENTS[0], Source(source_id="fares", corpus_ver="-", title="Prices",
                              source_text="Entry costs 5 euros."), DOCUMENTS[2]],
    ],
)  # fmt: skip
def test_a_changed_document_is_noticed(
    tmp_path: Path, builds: Builds, changed: list[Source]
) -> None:
    Corpus(DOCUMENTS, folder=tmp_path)
    before = builds.documents
    found = Corpus(changed, folder=tmp_path).find_passages(CLAIM)
    assert builds.documents == before + len(changed)
    assert found == Corpus(changed).find_passages(CLAIM)


def test_another_version_of_claimwise_builds_its_own(
    tmp_path: Path, builds: Builds, monkeypatch: pytest.MonkeyPatch
) -> None:
    Corpus(DOCUMENTS, folder=tmp_path)
    monkeypatch.setattr(kept_index, "version", lambda _: "99.0")
    Corpus(DOCUMENTS, folder=tmp_path)
    assert builds.documents == 6


def _spoil_arrays(path: Path, **changed: np.ndarray) -> None:
    with np.load(path, allow_pickle=False) as kept:
        arrays = {name: kept[name] for name in kept.files}
    np.savez(path, **{**arrays, **changed})


SPOILS: dict[str, Callable[[Path], object]] = {
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-40]),
    "half": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "empty": lambda path: path.write_bytes(b""),
    "other": lambda path: path.write_bytes(b"no archive"),
    "flipped": lambda path: path.write_bytes(
        bytes(b ^ 255 if n == 300 else b for n, b in enumerate(path.read_bytes()))
    ),
    "places": lambda path: _spoil_arrays(path, places=np.array([[0, 0, 10**6]])),
    "document": lambda path: _spoil_arrays(path, places=np.array([[9, 0, 3]])),
    "passages": lambda path: _spoil_arrays(path, passages=np.array([7] * 9)),
    "words": lambda path: _spoil_arrays(path, words=np.array([255, 254], np.uint8)),
    "types": lambda path: _spoil_arrays(path, scores=np.array(["x"])),
}


@pytest.mark.parametrize("spoil", SPOILS)
def test_a_corrupt_index_is_built_anew(tmp_path: Path, builds: Builds, spoil: str) -> None:
    whole = Corpus(DOCUMENTS, folder=tmp_path).find_passages(CLAIM)
    [path] = tmp_path.iterdir()
    SPOILS[spoil](path)
    assert Corpus(DOCUMENTS, folder=tmp_path).find_passages(CLAIM) == whole
    assert builds.documents == 6
    Corpus(DOCUMENTS, folder=tmp_path)  # and kept again
    assert builds.documents == 6


def test_what_could_be_run_is_never_read(tmp_path: Path, builds: Builds) -> None:
    Corpus(DOCUMENTS, folder=tmp_path)
    [path] = tmp_path.iterdir()
    np.savez(path, places=np.array([{"a": "pickle"}], dtype=object))
    Corpus(DOCUMENTS, folder=tmp_path)
    assert builds.documents == 6


def test_a_folder_that_cannot_be_written_to_keeps_nothing(tmp_path: Path, builds: Builds) -> None:
    file = tmp_path / "file"
    file.write_text("no folder", encoding="utf-8")
    for _ in range(2):
        assert Corpus(DOCUMENTS, folder=file / "corpora").find_passages(CLAIM)
    assert builds.documents == 6


def test_the_least_used_indexes_go(tmp_path: Path, builds: Builds) -> None:
    for number in range(kept_index._KEPT + 3):
        text = f"Tower number {number}."
        Corpus([Source(source_id="d", corpus_ver="-", source_text=text)], folder=tmp_path)
        newest = max(tmp_path.iterdir(), key=lambda path: path.stat().st_mtime_ns)
        os.utime(newest, (number, number))
    assert len(list(tmp_path.glob("*.npz"))) == kept_index._KEPT


@pytest.mark.each_engine
def test_commands_share_the_index(
    store: Store, tmp_path: Path, builds: Builds, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of files and of the store; what the documents say decides, not where they are."""
    monkeypatch.setenv("CLAIMWISE_CACHE_FOLDER", str(tmp_path / "cache"))
    load(store, source())
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/a.txt").write_text("The tower is 139 m tall.", encoding="utf-8")
    for _ in range(2):
        read_stored_corpus(store)
        read_corpus([tmp_path / "docs"])
    assert builds.documents == 2
    assert (tmp_path / "cache/corpora").stat().st_mode & 0o077 == 0
