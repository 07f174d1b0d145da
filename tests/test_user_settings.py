"""What the user says outside of any project, and whose settings count."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from claimwise.config import FILE_NAME, find_project, read_config
from claimwise.errors import ConfigError
from claimwise.user_settings import (
    UserSettings,
    allow_host,
    find_user_folder,
    is_host_allowed,
    read_user_settings,
)

HOST = "https://models.example"
STRANGER = 54321


def write_settings(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / FILE_NAME
    path.write_text("[llm]\nconcurrency = 3\n")
    return path


def is_found(start: Path) -> bool:
    return find_project(start).config.llm.concurrency == 3


GiveAway = Callable[[Path], None]


@pytest.fixture
def give_away(monkeypatch: pytest.MonkeyPatch) -> GiveAway:
    """Return what makes a file a stranger's: root gives it away, others become the stranger."""

    def change_owner(path: Path) -> None:
        if os.geteuid() == 0:
            os.chown(path, STRANGER, -1, follow_symlinks=False)
        else:
            monkeypatch.setattr(os, "geteuid", lambda: STRANGER)

    return change_owner


# Where settings are searched.


def test_settings_are_searched_up_to_the_root_of_the_repository(tmp_path: Path) -> None:
    write_settings(tmp_path)
    inner = tmp_path / "repository" / "src" / "deep"
    inner.mkdir(parents=True)
    assert is_found(inner)
    (tmp_path / "repository" / ".git").mkdir()
    assert not is_found(inner)
    write_settings(tmp_path / "repository")
    assert is_found(inner)
    assert find_project(inner).folder == tmp_path / "repository"


def test_a_git_file_marks_a_root_too(tmp_path: Path) -> None:
    write_settings(tmp_path)
    worktree = tmp_path / "worktree"
    worktree.mkdir()
    (worktree / ".git").write_text("gitdir: elsewhere\n")
    assert not is_found(worktree)


def test_settings_are_searched_up_to_home_and_never_above(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home" / "me"
    (home / "project").mkdir(parents=True)
    (tmp_path / "home" / "shared" / "deep").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    write_settings(tmp_path / "home")
    assert not is_found(home / "project")
    assert not is_found(home)
    assert not is_found(tmp_path / "home" / "shared" / "deep")  # home lies beside it
    assert is_found(tmp_path / "home")  # who stands there means it
    write_settings(home)
    assert is_found(home / "project")


def test_the_search_ends_where_another_file_system_begins() -> None:
    """``/proc`` is one on every Linux; nothing can be written there, so the folders are listed."""
    from claimwise.config import _list_folders

    if not Path("/proc/self").is_dir():
        pytest.skip("no /proc here")
    folders = list(_list_folders(Path("/proc/self/task")))
    assert folders[-1] == Path("/proc")


# Whose settings count.


def test_a_strangers_settings_are_refused_in_one_line(tmp_path: Path, give_away: GiveAway) -> None:
    path = write_settings(tmp_path / "shared")
    below = tmp_path / "shared" / "mine"
    below.mkdir()
    assert is_found(below)
    give_away(path)
    with pytest.raises(ConfigError) as caught:
        find_project(below)
    told = str(caught.value)
    assert told.startswith(f"{path}: it belongs to user ")
    assert told.endswith(f"set CLAIMWISE_TRUSTED_FOLDERS={path.parent} if you trust it")
    assert "\n" not in told


def test_a_strangers_link_is_refused(tmp_path: Path, give_away: GiveAway) -> None:
    path = write_settings(tmp_path / "mine")
    link = tmp_path / FILE_NAME
    link.symlink_to(path)
    assert is_found(tmp_path)
    give_away(link)
    with pytest.raises(ConfigError, match="belongs to user"):
        find_project(tmp_path)


def test_settings_that_anyone_may_write_are_refused(tmp_path: Path) -> None:
    path = write_settings(tmp_path)
    path.chmod(0o664)
    assert is_found(tmp_path)
    path.chmod(0o666)
    with pytest.raises(ConfigError, match="anyone may write to it, so it is not read; run chmod"):
        read_config(path)


@pytest.mark.parametrize("where", ["variable", "settings"])
def test_the_user_may_trust_a_folder(
    tmp_path: Path, user_folder: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    path = write_settings(tmp_path / "shared" / "deep")
    path.chmod(0o666)

    def trust(folder: Path | str) -> None:
        if where == "variable":
            monkeypatch.setenv("CLAIMWISE_TRUSTED_FOLDERS", f"/nowhere{os.pathsep}{folder}")
        else:
            user_folder.mkdir(exist_ok=True)
            (user_folder / "settings.toml").write_text(f'trusted_folders = ["{folder}"]\n')

    for folder in (path.parent, tmp_path, "*"):
        trust(folder)
        assert is_found(path.parent)
    for folder in (tmp_path / "other", tmp_path / "sha"):
        trust(folder)
        with pytest.raises(ConfigError, match="anyone may write"):
            find_project(path.parent)


def test_a_project_can_not_trust_itself(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    path.write_text('trusted_folders = ["*"]\n')
    with pytest.raises(ConfigError, match="unknown field"):
        find_project(tmp_path)


# The user's own folder.


def test_the_user_folder_follows_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CLAIMWISE_USER_FOLDER", "/own")
    monkeypatch.setenv("XDG_CONFIG_HOME", "/xdg")
    assert find_user_folder() == Path("/own")
    monkeypatch.delenv("CLAIMWISE_USER_FOLDER")
    assert find_user_folder() == Path("/xdg/claimwise")
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative")  # would lie in the project
    assert find_user_folder() == tmp_path / ".config" / "claimwise"


def test_user_settings_come_from_file_and_variables(
    user_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert read_user_settings() == UserSettings()
    user_folder.mkdir()
    (user_folder / "settings.toml").write_text('key_variables = ["A_KEY"]\n')
    monkeypatch.setenv("CLAIMWISE_KEY_VARIABLES", "B_KEY,, C_KEY ")
    assert read_user_settings().key_variables == ("A_KEY", "B_KEY", "C_KEY")


@pytest.mark.parametrize("text", ["x = ", "key_variables = 3\n", "hosts = []\n", b"\xff"])
def test_wrong_user_settings_are_told(user_folder: Path, text: str | bytes) -> None:
    user_folder.mkdir()
    path = user_folder / "settings.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ConfigError) as caught:
        read_user_settings()
    assert str(caught.value).startswith(f"{path}: ")
    assert "fix or delete the file" in str(caught.value)


def test_user_settings_of_a_stranger_are_refused(user_folder: Path, give_away: GiveAway) -> None:
    user_folder.mkdir()
    path = user_folder / "settings.toml"
    path.write_text('key_variables = ["AWS_SECRET_ACCESS_KEY"]\ntrusted_folders = ["*"]\n')
    give_away(path)
    with pytest.raises(ConfigError, match="belongs to user"):
        read_user_settings()


# The user's word.


def test_a_word_holds_for_one_project_one_host_and_one_key(
    tmp_path: Path, user_folder: Path
) -> None:
    assert not is_host_allowed(tmp_path, HOST, "A_KEY")
    path = allow_host(tmp_path, HOST, "A_KEY")
    assert path.is_relative_to(user_folder)
    assert is_host_allowed(tmp_path, HOST, "A_KEY")
    assert not is_host_allowed(tmp_path, HOST, "B_KEY")
    assert not is_host_allowed(tmp_path, HOST, None)
    assert not is_host_allowed(tmp_path, "http://models.example", "A_KEY")
    assert not is_host_allowed(tmp_path / "other", HOST, "A_KEY")
    assert not is_host_allowed(tmp_path.parent, HOST, "A_KEY")
    path.unlink()  # taken back
    assert not is_host_allowed(tmp_path, HOST, "A_KEY")


def test_a_word_is_readable_by_the_user_alone(tmp_path: Path, user_folder: Path) -> None:
    path = allow_host(tmp_path, HOST, None)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [*path.parent.iterdir()] == [path]


@pytest.mark.usefixtures("user_folder")
@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b'{"host": "https://x"}'])
def test_a_broken_word_is_none(tmp_path: Path, content: bytes) -> None:
    path = allow_host(tmp_path, HOST, None)
    path.write_bytes(content)
    assert not is_host_allowed(tmp_path, HOST, None)


def test_a_strangers_word_is_none(tmp_path: Path, user_folder: Path, give_away: GiveAway) -> None:
    give_away(allow_host(tmp_path, HOST, None))
    assert not is_host_allowed(tmp_path, HOST, None)


def test_several_processes_keep_all_their_words(tmp_path: Path, user_folder: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from claimwise.user_settings import allow_host\n"
        "for n in range(20): allow_host(Path(sys.argv[1]), f'https://h{n}.example', sys.argv[2])"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path), key])
        for key in ("A_KEY", "A_KEY", "B_KEY")
    ]
    assert [process.wait() for process in started] == [0, 0, 0]
    for key in ("A_KEY", "B_KEY"):
        assert all(is_host_allowed(tmp_path, f"https://h{n}.example", key) for n in range(20))
    assert len(list((user_folder / "allowed-hosts").iterdir())) == 40


def test_a_word_that_can_not_be_kept_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CLAIMWISE_USER_FOLDER", str(tmp_path / "file" / "below"))
    with pytest.raises(ConfigError, match="Not a directory"):
        allow_host(tmp_path, HOST, None)
