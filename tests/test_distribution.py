"""What a release is made of, and that it works where nothing else is installed."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
PIP = (sys.executable, "-m", "pip")

# Loaded by every Python of the empty environment: whatever reaches for the network fails.
OFFLINE = """
import socket

def refuse(*arguments, **options):
    raise OSError("this environment has no network")

socket.socket.connect = refuse
socket.getaddrinfo = refuse
"""


class Release(NamedTuple):
    """The two files that are published."""

    sdist: Path
    wheel: Path


def call(*command: str | Path, cwd: Path = ROOT) -> str:
    """Run a program that must succeed; return what it printed."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def list_sources() -> set[str]:
    """Return the files of the working tree that git does not ignore."""
    found = call("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    return {name for name in found if name and (ROOT / name).is_file()}


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    """The sdist of this working tree, and the wheel that is built from the sdist alone."""
    if not (ROOT / ".git").exists():
        pytest.skip("no git checkout: there is nothing to say what belongs to a release")
    folder = tmp_path_factory.mktemp("dist")
    call(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", folder)
    (sdist,) = folder.iterdir()
    options = ("--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", folder)
    call(*PIP, "wheel", *options, sdist)
    (wheel,) = folder.glob("*.whl")
    return Release(sdist, wheel)


def test_sdist_is_the_whole_repository(release: Release) -> None:
    with tarfile.open(release.sdist) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    assert names - {"PKG-INFO"} == list_sources()


def test_wheel_is_the_whole_package_and_nothing_else(release: Release) -> None:
    """SQL, templates, prompts, guides and weights are files of the package like its modules."""
    names = set(zipfile.ZipFile(release.wheel).namelist())
    package = {name for name in names if ".dist-info/" not in name}
    ours = {name.removeprefix("src/") for name in list_sources() if name.startswith("src/")}
    assert package == ours
    assert {Path(name).suffix for name in package} >= {".sql", ".html", ".js", ".css", ".md"}
    assert any(name.endswith(".onnx") for name in package)


@pytest.fixture(scope="module")
def empty_environment(release: Release, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment with the wheel, what it needs, and no network."""
    folder = tmp_path_factory.mktemp("empty")
    call(sys.executable, "-m", "venv", "--without-pip", folder)
    call(*PIP, "--python", folder, "install", "--quiet", "--no-compile", release.wheel)
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "sitecustomize.py").write_text(OFFLINE, encoding="utf-8")
    return folder / "bin"


def test_base_install_brings_few_packages(empty_environment: Path) -> None:
    listed = call(*PIP, "--python", empty_environment.parent, "list", "--format", "json")
    names = {entry["name"] for entry in json.loads(listed)}
    assert "claimwise" in names
    assert len(names) <= 25


def test_the_demo_works_offline_in_an_empty_environment(
    empty_environment: Path, tmp_path: Path
) -> None:
    program = empty_environment / "claimwise"
    call(program, "demo", "shop", cwd=tmp_path)
    shop = tmp_path / "shop"
    assert (shop / "report.html").stat().st_size > 10_000
    report = json.loads(call(program, "report", "--format", "json", cwd=shop))
    assert report["run"]["run_id"] == "candidate"
    answer = call(
        program, "check", "--answer", "check/answer.txt", "--source", "check/delays.md", cwd=shop
    )
    assert "judged by verifier:lexical-" in answer
