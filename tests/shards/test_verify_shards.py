"""Jobs over shards: what they write, what they skip, and what they refuse."""

from __future__ import annotations

import os
import socket
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import msgspec
import pytest

import claimwise
from claimwise.cli.main import run
from claimwise.errors import ClaimwiseError
from claimwise.shards import engines
from claimwise.shards.engines import ATTEMPTS, HereEngine, ProcessEngine, RayEngine, verify_shard
from claimwise.shards.places import list_inputs
from claimwise.shards.values import Shard, ShardOutcome
from claimwise.shards.verify import ShardsResult
from claimwise.shards.work import ShardJob, ShardWorker
from claimwise.store import open_store
from claimwise.transfer import import_files
from shards.shard_files import Verdicts, make_files, make_row, read_output, verify, write_rows


@pytest.fixture
def verified(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that workers began with."""
    names: list[str] = []
    real = ShardWorker.verify

    def count(self: ShardWorker, shard: object) -> object:
        names.append(shard.file.name)  # type: ignore[attr-defined]
        return real(self, shard)  # type: ignore[arg-type]

    monkeypatch.setattr(ShardWorker, "verify", count)
    return names


def count_texts(verdicts: Verdicts) -> Counter[tuple[str, str | None]]:
    return Counter((text, verdict) for (_, _, text), verdict in verdicts.items())


def test_output_is_a_store_that_agrees_with_measure(tmp_path: Path) -> None:
    """Every format, an item in two files, groups, failures, and answers without contexts."""
    rows = [make_row(number) for number in range(8)]
    rows[2] |= {"answer": ""}
    rows[3] |= {"answer": "I could not find any information about that."}
    rows[4] |= {"contexts": []}
    rows = [{**row, "domain": f"d{number % 2}"} for number, row in enumerate(rows)]
    files = tmp_path / "answers"
    files.mkdir()
    write_rows(files / "a.jsonl", rows[:3])
    write_rows(files / "b.jsonl.gz", [*rows[3:6], rows[0]])
    write_rows(files / "c.parquet", rows[6:])
    (files / "empty.jsonl").write_bytes(b"")
    done = verify(str(files), tmp_path / "out")
    assert (done.shards, done.failed) == (4, {})

    write_rows(tmp_path / "all.jsonl", [*rows[:6], rows[0], *rows[6:]])
    place = tmp_path / "measured.db"
    claimwise.measure(tmp_path / "all.jsonl", verifier="overlap", store=place, run="job")
    found = read_output(tmp_path / "out")
    assert count_texts(found) == count_texts(read_output(place))
    asked = [verdict for verdict in found.values() if verdict is not None]
    assert done.counts.judged + sum(done.counts.unscored.values()) == len(asked) == 21
    assert done.counts.unscored == {"no_contexts": 3}
    assert done.counts.dropped == {"rows without an answer": 1}
    assert done.counts.without_claims == 1

    with open_store(tmp_path / "imported.db", create=True) as store:
        import_files(store, [tmp_path / "out"])
        assert store.audit() == []
        cited = store.query("select count(*) from citations where source_id is not null")
        groups = store.query("select distinct domain from eval_items order by 1")
        shared = store.query("select count(distinct sample) from answers group by item_id")
    assert cited == [(6,)]
    assert groups == [("d0",), ("d1",)]
    assert sorted(shared)[-1] == (2,)
    assert read_output(tmp_path / "imported.db") == found


def test_only_what_is_new_or_changed_is_verified(tmp_path: Path, verified: list[str]) -> None:
    pattern = make_files(tmp_path / "in", 3, 2)
    output = tmp_path / "out"
    first = verify(pattern, output)
    assert first.done_before == 0
    whole = read_output(output)
    verified.clear()

    os.utime(tmp_path / "in" / "part-000.jsonl", (1, 1))  # touched, but the same
    write_rows(tmp_path / "in" / "part-001.jsonl", [make_row(90)])
    write_rows(tmp_path / "in" / "part-003.jsonl", [make_row(91), make_row(91)])
    again = verify(pattern, output)
    assert verified == ["part-001.jsonl", "part-003.jsonl"]
    assert (again.shards, again.done_before, again.own.answers) == (4, 2, 3)
    now = read_output(output)
    assert len(now) == 21
    assert len(now.items() & whole.items()) == 12

    verified.clear()
    assert verify(pattern, output).done_before == 4
    assert verified == []


def test_another_judge_or_another_file_is_refused(tmp_path: Path, verified: list[str]) -> None:
    pattern = make_files(tmp_path / "in", 2, 1)
    output = tmp_path / "out"
    verify(pattern, output)
    with pytest.raises(ClaimwiseError, match=r"judge then “verifier:overlap-1, 1”, now .*--again"):
        verify(pattern, output, judge="lexical")
    with pytest.raises(ClaimwiseError, match="system then “—”, now “v2”"):
        verify(pattern, output, options={"system": "v2"})
    other = make_files(tmp_path / "elsewhere", 1, 2)
    with pytest.raises(ClaimwiseError, match=r"part-000.jsonl was verified from .*is another file"):
        verify(other, output)

    verified.clear()
    assert verify(pattern, output, judge="lexical", again=True).labeler == "verifier:lexical-7"
    assert len(verified) == 2
    with open_store(output) as store:
        assert store.query("select distinct labeler from labels") == [("verifier:lexical-7",)]


def test_a_bad_file_is_one_line_and_the_others_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    make_files(tmp_path / "in", 2, 1)
    (tmp_path / "in" / "part-000.jsonl").write_text('{"neither": "question nor answer"}\n')
    arguments = ["--input", "in/*.jsonl", "--output", "verdicts/", "--verifier", "overlap"]
    code = run(["verify", *arguments, "--workers", "1"])
    told = capsys.readouterr()
    assert code == 1
    assert "supported             2" in told.out
    wrong = [line for line in told.err.splitlines() if line.startswith("error: ")]
    assert len(wrong) == 2
    assert "part-000.jsonl: found" in wrong[0]
    assert "1 file could not be verified" in wrong[1]
    assert len(read_output(tmp_path / "verdicts")) == 3


def test_urls(tmp_path: Path) -> None:
    """What is at a URL is read, written and resumed like what is in a folder."""
    import fsspec

    pattern = make_files(tmp_path / "in", 2, 2)
    verify(pattern, tmp_path / "folder")
    memory = fsspec.filesystem("memory")
    memory.put(f"{tmp_path}/in/", "/answers/", recursive=True)
    results: list[ShardsResult] = [
        verify("memory://answers/*.jsonl", "memory://bucket/verdicts") for _ in range(2)
    ]
    assert [one.done_before for one in results] == [0, 2]
    assert [file.name for file in list_inputs(["memory://answers"])] == [
        "part-000.jsonl",
        "part-001.jsonl",
    ]
    (tmp_path / "copy").mkdir()
    for path in memory.glob("/bucket/verdicts/*.parquet"):
        memory.get_file(path, str(tmp_path / "copy" / Path(path).name))
    assert read_output(tmp_path / "copy") == read_output(tmp_path / "folder")
    with pytest.raises(ClaimwiseError, match="nowhere://x"):
        verify(pattern, "nowhere://x")


def test_a_file_that_takes_its_worker_along_is_given_up_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others are done, even those that were under way whenever a pool broke."""
    pattern = make_files(tmp_path / "in", 4, 1)
    pools: list[list[str]] = []

    def run_pool(
        job: ShardJob, shards: Sequence[Shard], workers: int, under_way: dict[object, Shard]
    ) -> Iterator[tuple[Shard, ShardOutcome]]:
        pools.append([shard.file.name for shard in shards])
        for shard in shards:
            under_way |= {shard: shard for shard in shards[:2]}
            if "part-001" in shard.file.name:
                raise BrokenProcessPool
            if len(shards) != 4:  # in the first pools, the bad one is the quickest
                under_way.pop(shard, None)
                yield shard, verify_shard(job, shard)

    monkeypatch.setattr(engines, "_run_pool", run_pool)
    done = verify(pattern, tmp_path / "out", ProcessEngine(2))
    assert list(done.failed) == ["part-001.jsonl"]
    assert "lost again and again" in done.failed["part-001.jsonl"]
    assert done.shards == 3
    assert ["part-000.jsonl"] in pools  # a pool of its own, in which it was done
    assert len(pools) == ATTEMPTS + 2


class ElsewhereEngine(HereEngine):
    """Workers whose disk is not this process's."""

    def run(self, job: ShardJob, shards: Sequence[Shard]) -> Iterator[tuple[Shard, ShardOutcome]]:
        assert Path(job.output).is_absolute()
        elsewhere = msgspec.structs.replace(job, output=f"{job.output}-of-another-node")
        return super().run(elsewhere, shards)


def test_workers_that_write_elsewhere_are_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pattern = make_files(tmp_path / "in", 2, 1)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ClaimwiseError, match=r"^out: 2 of the files .* all nodes share"):
        verify(pattern, "out", ElsewhereEngine())


def test_no_cluster_is_one_line(tmp_path: Path) -> None:
    """Ray itself would try for many minutes."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(ClaimwiseError, match=f"no Ray cluster at '{address}'"):
            RayEngine(address, None).__enter__()
