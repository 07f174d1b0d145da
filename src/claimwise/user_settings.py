"""What the user says outside of any project, and which files may speak for a project.

A project's ``claimwise.toml`` comes with the project, so whoever wrote the project wrote it too.
What it may not decide alone is said here: in ``settings.toml`` of the user's own folder, in
environment variables, and in the answers that are kept beside that file, one file for each.
"""

from __future__ import annotations

import json
import os
import stat
import tempfile
import tomllib
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

import msgspec

from claimwise.errors import ConfigError

FOLDER_VARIABLE = "CLAIMWISE_USER_FOLDER"
CACHE_VARIABLE = "CLAIMWISE_CACHE_FOLDER"
KEYS_VARIABLE = "CLAIMWISE_KEY_VARIABLES"  # separated by commas
TRUST_VARIABLE = "CLAIMWISE_TRUSTED_FOLDERS"  # separated as in PATH

_SETTINGS = "settings.toml"
_ANSWERS = "allowed-hosts"
_EVERY_FOLDER = "*"
_ROOT = 0


class UserSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The user's ``settings.toml``, with what environment variables add."""

    key_variables: tuple[str, ...] = ()  # that a project may name in key_env
    trusted_folders: tuple[str, ...] = ()  # whose files count whoever owns them; "*": all


def find_home() -> Path | None:
    """Return the user's home; None where nobody knows it, as for a number without an account."""
    try:
        return Path.home().resolve()
    except RuntimeError:
        return None


def find_user_folder() -> Path | None:
    """Return the folder of the user's own settings; it need not exist.

    ``$CLAIMWISE_USER_FOLDER``, else ``$XDG_CONFIG_HOME/claimwise``, else ``~/.config/claimwise``.
    A relative ``$XDG_CONFIG_HOME`` is ignored, as its specification says: it may be in a project.
    """
    given = os.environ.get(FOLDER_VARIABLE)
    if given:
        return Path(given)
    base = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    if base.is_absolute():
        return base / "claimwise"
    home = find_home()
    return None if home is None else home / ".config" / "claimwise"


def find_cache_folder() -> Path | None:
    """Return the folder for what can be made again; it need not exist.

    ``$CLAIMWISE_CACHE_FOLDER``, else ``$XDG_CACHE_HOME/claimwise``, else ``~/.cache/claimwise``.
    """
    given = os.environ.get(CACHE_VARIABLE)
    if given:
        return Path(given)
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if base.is_absolute():
        return base / "claimwise"
    home = find_home()
    return None if home is None else home / ".cache" / "claimwise"


def read_user_settings() -> UserSettings:
    """Return what the user's file and environment say; without either, nothing.

    Raises:
        ConfigError: the file is wrong, or someone else may have written it.
    """
    folder = find_user_folder()
    path = None if folder is None else folder / _SETTINGS
    said = UserSettings() if path is None or not path.is_file() else _read_settings_file(path)
    return UserSettings(
        key_variables=(*said.key_variables, *_read_list(KEYS_VARIABLE, ",")),
        trusted_folders=(*said.trusted_folders, *_trusted_by_variable()),
    )


def _read_settings_file(path: Path) -> UserSettings:
    try:
        found = tomllib.loads(_read_owned(path, _trusted_by_variable))
        return msgspec.convert(found, UserSettings)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise ConfigError(
            f"{path}: {error}; fix or delete the file, which may have key_variables and "
            "trusted_folders"
        ) from error


def describe_settings_file() -> str:
    """Name the user's settings file for a message."""
    folder = find_user_folder()
    return f"{_SETTINGS} under {FOLDER_VARIABLE}" if folder is None else str(folder / _SETTINGS)


def read_project_file(path: Path) -> str:
    """Return the text of a project's file that only the user (or root) can have written.

    Anyone else's is read where the user trusts its folder, or one above it.

    Raises:
        ConfigError: it belongs to someone else, or anyone may write to it.
        OSError: it can't be read.
    """
    return _read_owned(path, lambda: read_user_settings().trusted_folders)


def _read_owned(path: Path, list_trusted: Callable[[], tuple[str, ...]]) -> str:
    """Return the text of a file whose owner and mode were checked after it was opened."""
    with path.open("rb") as file:
        wrong = _find_other_writers(path, file)
        if wrong and not _is_trusted(path, list_trusted()):
            raise ConfigError(f"{path}: {wrong}")
        return file.read().decode("utf-8")


def _find_other_writers(path: Path, file: BinaryIO) -> str | None:
    """Say who else may have written an open file, and what to do about it; None: nobody.

    A link must belong to the user as well. Where files have no owners, nothing is checked.
    """
    if not hasattr(os, "geteuid"):
        return None
    found, me = os.fstat(file.fileno()), os.geteuid()
    way_out = f"set {TRUST_VARIABLE}={path.resolve().parent} if you trust it"
    for owner in (found.st_uid, os.lstat(path).st_uid):
        if owner not in (me, _ROOT):
            return f"it belongs to user {owner} and you are user {me}, so it is not read; {way_out}"
    if found.st_mode & stat.S_IWOTH:
        return f"anyone may write to it, so it is not read; run chmod o-w on it, or {way_out}"
    return None


def is_trusted_folder(folder: Path) -> bool:
    """Tell whether the user said that a folder's files count, so that a project there may run code.

    Raises:
        ConfigError: the user's settings can't be read.
    """
    return _is_trusted(folder, read_user_settings().trusted_folders)


def _is_trusted(path: Path, folders: tuple[str, ...]) -> bool:
    place = path.resolve()
    return any(
        folder == _EVERY_FOLDER or place.is_relative_to(Path(os.path.expanduser(folder)).resolve())
        for folder in folders
    )


def _trusted_by_variable() -> tuple[str, ...]:
    return _read_list(TRUST_VARIABLE, os.pathsep)


def _read_list(variable: str, separator: str) -> tuple[str, ...]:
    parts = os.environ.get(variable, "").split(separator)
    return tuple(part.strip() for part in parts if part.strip())


def is_host_allowed(project: Path, origin: str, key_variable: str | None) -> bool:
    """Return whether the user once allowed a project to send to a host, with that key or none."""
    path = _find_answer(project, origin, key_variable)
    if path is None or not path.is_file():
        return False
    try:
        found = json.loads(_read_owned(path, _trusted_by_variable))
    except (OSError, ValueError, ConfigError):
        return False
    return bool(found == _to_answer(project, origin, key_variable))


def allow_host(project: Path, origin: str, key_variable: str | None) -> Path:
    """Keep the user's word that a project may send to a host, and return the file that says so.

    Each answer is a file of its own, readable by the user alone, that is there whole or not at
    all: several processes can keep answers at once. Deleting the file takes the answer back.

    Raises:
        ConfigError: there is no place to keep it.
    """
    path = _find_answer(project, origin, key_variable)
    if path is None:
        raise ConfigError(f"there is no home directory to store it in; set {FOLDER_VARIABLE}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".")  # of mode 0600
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(_to_answer(project, origin, key_variable), file, indent=2)
            Path(name).replace(path)
        except OSError:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or error}") from error
    return path


def _find_answer(project: Path, origin: str, key_variable: str | None) -> Path | None:
    folder = find_user_folder()
    if folder is None:
        return None
    answer = json.dumps(_to_answer(project, origin, key_variable))
    return folder / _ANSWERS / f"{sha256(answer.encode()).hexdigest()[:32]}.json"


def _to_answer(project: Path, origin: str, key_variable: str | None) -> dict[str, str | None]:
    return {"project": str(project.resolve()), "host": origin, "key_variable": key_variable}
