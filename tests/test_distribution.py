"""What a release is made of, and that it works where nothing else is installed."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
import zipfile
from importlib.metadata import Distribution, distribution, distributions
from pathlib import Path
from typing import NamedTuple

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

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
    folder, unpacked = tmp_path_factory.mktemp("dist"), tmp_path_factory.mktemp("unpacked")
    build = (sys.executable, "-m", "hatchling", "build", "-d", folder)
    call(*build, "-t", "sdist")
    (sdist,) = folder.iterdir()
    with tarfile.open(sdist) as packed:
        packed.extractall(unpacked, filter="data")
    (sources,) = unpacked.iterdir()
    call(*build, "-t", "wheel", cwd=sources)
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


def find_needed(package: Distribution) -> dict[str, Distribution]:
    """Return what a package needs without any extra, and what that needs, as installed here."""
    found: dict[str, Distribution] = {}
    waiting = [package]
    while waiting:
        for needed in map(Requirement, waiting.pop().requires or []):
            name = canonicalize_name(needed.name)
            wanted = needed.marker is None or needed.marker.evaluate({"extra": ""})
            if wanted and name not in found:
                found[name] = distribution(name)
                waiting.append(found[name])
            assert not wanted or needed.specifier.contains(found[name].version), needed
    return found


def link_package(package: Distribution, site: Path) -> None:
    """Make a package of this environment one of another."""
    tops = {file.parts[0] for file in package.files or []} - {"..", "__pycache__"}
    for top in tops:
        (site / top).symlink_to(Path(str(package.locate_file(top))))


@pytest.fixture(scope="module")
def empty_environment(release: Release, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment with the wheel, the packages it asks for, and no network."""
    folder = tmp_path_factory.mktemp("empty")
    call(sys.executable, "-m", "venv", "--without-pip", folder)
    options = ("--quiet", "--no-compile", "--no-deps", "--no-index")
    call(*PIP, "--python", folder, "install", *options, release.wheel)
    (site,) = folder.glob("lib/python*/site-packages")
    (ours,) = distributions(path=[str(site)])
    for package in find_needed(ours).values():
        link_package(package, site)
    (site / "sitecustomize.py").write_text(OFFLINE, encoding="utf-8")
    return folder / "bin"


def test_base_install_brings_few_packages(empty_environment: Path) -> None:
    (site,) = empty_environment.parent.glob("lib/python*/site-packages")
    names = {found.name for found in distributions(path=[str(site)])}
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
