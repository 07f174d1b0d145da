"""Promises about the package as a whole."""

from __future__ import annotations

import re
import runpy
import shlex
import subprocess
import sys
import tomllib
from importlib.metadata import distribution, requires, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import claimwise
from claimwise.cli.commands import COMMANDS
from claimwise.errors import ClaimwiseError
from claimwise.metrics import load_metrics

ROOT = Path(__file__).parent.parent
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]


def in_new_python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_front_door_is_complete_and_small() -> None:
    assert claimwise.__all__ == sorted(claimwise.__all__)
    assert set(claimwise._HOMES) == set(claimwise.__all__)
    assert len(claimwise.__all__) <= 30
    for name in claimwise.__all__:
        assert getattr(claimwise, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        claimwise.nonsense  # noqa: B018


def test_no_public_name_hides_a_module() -> None:
    modules = {path.stem for path in (ROOT / "src/claimwise").iterdir()}
    assert modules.isdisjoint(claimwise.__all__)


def test_an_older_python_is_told_which_one_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 10, 14))
    with pytest.raises(ImportError, match=r"needs Python 3\.11 or newer, and this is Python 3\.10"):
        runpy.run_path(str(ROOT / "src/claimwise/__init__.py"))


def test_import_is_light() -> None:
    """Nothing is loaded but itself and a few modules that Python's own programs load too."""
    code = (
        "import sys; before = set(sys.modules); import claimwise; "
        "print(*(set(sys.modules) - before))"
    )
    loaded = in_new_python(code).split()
    roots = {name.partition(".")[0] for name in loaded}
    assert roots - {"claimwise"} <= sys.stdlib_module_names
    assert [name for name in loaded if name.startswith("claimwise")] == ["claimwise"]
    assert len(loaded) < 60


def test_nothing_reaches_for_the_network_at_import() -> None:
    names = ", ".join(entry.module for entry in COMMANDS.values())
    code = (
        "import socket\n"
        "def refuse(*a, **k): raise AssertionError('network at import')\n"
        "socket.socket.connect = refuse; socket.getaddrinfo = refuse\n"
        f"import {names}, claimwise.cli.main\nprint('quiet')"
    )
    assert in_new_python(code) == "quiet"


def base_packages() -> set[str]:
    """Return what `pip install claimwise` brings, claimwise included."""
    found: set[str] = set()
    waiting = ["claimwise"]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        for text in requires(name) or []:
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                waiting.append(re.sub(r"[-_.]+", "-", requirement.name).lower())
    return found


def test_base_install_is_small() -> None:
    assert len(base_packages()) <= 25


def test_licences_are_permissive() -> None:
    for name in {*base_packages(), "asyncpg", "duckdb", "onnxruntime", "tokenizers"}:
        metadata = distribution(name).metadata
        said = " ".join(
            [
                *(metadata.get_all("License-Expression") or []),
                *(c for c in metadata.get_all("Classifier") or [] if c.startswith("License")),
            ]
            or [text[:60] for text in metadata.get_all("License") or []]
        )
        assert re.search(r"MIT|BSD|Apache|ISC|PSF", said), f"{name}: {said}"
        assert "GPL" not in re.sub(r"GCC-exception|GPL-3\.0-or-later WITH", "", said), (
            f"{name}: {said}"
        )


@pytest.mark.parametrize(("module", "extra"), [("asyncpg", "postgres"), ("duckdb", "parquet")])
def test_missing_extras_say_what_to_install(module: str, extra: str, tmp_path: Path) -> None:
    (tmp_path / "runs.parquet").write_bytes(b"")
    place = "postgresql://localhost/x" if extra == "postgres" else str(tmp_path)
    code = (
        f"import sys; sys.modules[{module!r}] = None\n"
        "from claimwise.cli.main import run\n"
        f"sys.exit(run(['runs', '--store', {place!r}]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"pip install 'claimwise[{extra}]'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("module", ["onnxruntime", "tokenizers"])
def test_without_the_encoder_the_lexical_tier_judges(module: str, tmp_path: Path) -> None:
    """The base install checks answers; only asking for the full tier by name needs the extra."""
    (tmp_path / "a.txt").write_text("The tower is 200 m tall.", encoding="utf-8")
    (tmp_path / "s.txt").write_text("The tower is 139 m tall.", encoding="utf-8")
    code = (
        f"import sys; sys.modules[{module!r}] = None\n"
        "from claimwise.cli.main import run\n"
        "common = ['check', '--answer', 'a.txt', '--source', 's.txt', '--verifier']\n"
        "sys.exit(10 * run([*common, 'auto']) + run([*common, 'embedded']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 1, done.stderr
    assert "the source says 139 m, the claim 200 m" in done.stdout
    assert "judged by verifier:lexical-" in done.stdout
    assert "pip install 'claimwise[encoder]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_extras_are_in_the_development_group() -> None:
    """What the tests run is what the extras promise; tools that call us are tried by a script."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    extras = settings["project"]["optional-dependencies"]
    scorers = {"deepeval-scorer", "inspect-scorer", "mlflow-scorer"}
    ours = {"arrow", "encoder", "excel", "open-judges", "otlp", "parquet", "pdf", "postgres", "ray",
            "remote", "web", "zstd"}  # fmt: skip
    assert set(extras) == ours | scorers
    wanted = {text for name in ours for text in extras[name]}
    pinned = "torch==2.13.0"  # within the extra's range
    assert wanted - {"torch>=2.6"} | {pinned} <= set(settings["dependency-groups"]["dev"])
    assert "torch>=2.6" in extras["open-judges"]


def test_changelog_has_the_version() -> None:
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    released = [heading for heading in headings if heading != "Unreleased"]
    assert released[0] == settings["project"]["version"] == version("claimwise")


def test_every_command_metric_and_error_is_documented() -> None:
    cli = (ROOT / "docs/cli.md").read_text("utf-8")
    assert [name for name in COMMANDS if f"## claimwise {name}\n" not in cli] == []
    metrics = (ROOT / "docs/metrics.md").read_text("utf-8")
    assert [name for name in load_metrics() if f"### {name}\n" not in metrics] == []
    tree = sys.modules["claimwise.errors"].__doc__ or ""
    known: list[type[ClaimwiseError]] = [ClaimwiseError, *ClaimwiseError.__subclasses__()]
    known += [child for kind in known[1:] for child in kind.__subclasses__()]
    assert [kind.__name__ for kind in known if kind.__name__ not in tree] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text("utf-8")
    targets = re.findall(r"\]\((?!https?://|#)([^)#\s]+)", text)
    assert [t for t in targets if not (page.parent / t).exists()] == []


def test_commands_in_the_pages_exist() -> None:
    for page in PAGES:
        for name in re.findall(r"^\$ claimwise ([\w-]+)", page.read_text("utf-8"), re.MULTILINE):
            assert name in COMMANDS, f"{page.name}: claimwise {name}"


def test_readme_example_runs(tmp_path: Path) -> None:
    """The Python of the README, in an empty folder, which stays empty."""
    [code] = re.findall(r"```python\n(.+?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"0\.0 0\.0\d* 0\.\d+ judge_only\n", done.stdout)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("page", "count", "said"),
    [
        ("quickstart.md", 1, "the source says 139 m, the claim 200 m"),
        ("golden-set.md", 8, "Faithfulness"),
    ],
)
def test_pages_for_beginners_run(
    page: str,
    count: int,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The files and commands of a page, one after the other."""
    from claimwise.cli.main import run

    text = (ROOT / "docs" / page).read_text("utf-8")
    files = re.findall(
        r"^`(\S+\.(?:jsonl|md))`\n\n```(?:json|text)\n(.+?)```", text, re.MULTILINE | re.DOTALL
    )
    commands = re.findall(r"^\$ claimwise (.+?)(?:\s+#.*)?$", text, re.MULTILINE)
    assert len(files) == count
    assert len(commands) >= 3
    monkeypatch.chdir(tmp_path)
    for name, content in files:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content, encoding="utf-8")
    for command in commands:
        assert run(shlex.split(command)) == 0, command
    assert (tmp_path / "report.html").is_file()
    assert said in capsys.readouterr().out


def test_quickstart_fits_one_screen() -> None:
    assert len((ROOT / "docs/quickstart.md").read_text("utf-8").splitlines()) <= 30


def test_no_dynamic_code_in_the_product() -> None:
    banned = re.compile(r"\b(eval|exec|pickle|trust_remote_code)\b\s*[(.]")
    for path in (ROOT / "src").rglob("*.py"):
        found = banned.search(path.read_text("utf-8"))
        assert found is None, f"{path}: {found}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_are_finished(page: Path) -> None:
    assert not re.search(r"placeholder|TODO|TBD|@@|lorem", page.read_text("utf-8"), re.IGNORECASE)


def test_no_group_is_repeated_possessively() -> None:
    """Python 3.11.2, which Debian 12 has, keeps half a repeat of ``(?:…)*+`` (mended in 3.11.5)."""
    group = re.compile(r"\)(?:[*?+]|\{[0-9,]+\})\+")
    found = [
        f"{path.name}: {line.strip()}"
        for path in (ROOT / "src").rglob("*.py")
        for line in path.read_text("utf-8").splitlines()
        if re.search(r"r['\"]|^\s+[|(\[]", line) and group.search(line)
    ]
    assert found == []
