"""People who may log in: accounts, sessions, invites, failed logins, and the audit trail.

Passwords are kept as scrypt hashes with a salt of their own, tokens as SHA-256: who reads the
store can't log in with what is in it. Writes that decide something (who wins a race for an
invite, whether a login may be tried) ask and change in one transaction.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
import threading
import unicodedata
from datetime import datetime, timedelta
from functools import cache
from typing import Any, NamedTuple

import msgspec

from claimwise.accounts.values import ROLES, Account, Role
from claimwise.errors import RefusedError, describe_unknown
from claimwise.store.files import SqlFolder
from claimwise.store.store import Store

_SQL = SqlFolder("claimwise.accounts")

SESSION_LIFE = timedelta(hours=12)  # after the last request
LONGEST_SESSION = timedelta(days=7)  # after the login, whatever happens in between
SETUP_LIFE = timedelta(hours=1)
INVITE_LIFE = timedelta(hours=72)
LONGEST_INVITE = timedelta(days=30)
# Names that no account can have, so nobody can pass for them.
SETUP = "(first start)"
COMMAND_LINE = "(command line)"

_RENEW_AFTER = timedelta(hours=1)  # a session is not written to on every request
_NAME = re.compile(r"[A-Za-z0-9._@-]{2,64}")
_PASSWORD_LENGTHS = (12, 1000)
# What guessers try first, as it reads once digits and signs that stand for letters are letters.
_COMMON_WORDS = (
    "administrator", "password", "passwort", "changeme", "claimwise", "football", "iloveyou",
    "princess", "sunshine", "superman", "trustno", "baseball", "computer", "qwertyuiop",
    "asdfghjkl", "welcome", "letmein", "dragon", "monkey", "master", "secret", "shadow",
    "qwerty", "qwertz", "zxcvbnm", "hallo", "hello", "login", "admin", "asdf", "test", "pass",
)  # fmt: skip
_LETTERS_FOR_SIGNS = str.maketrans("@4301$5!7", "aaeoissit")
_FEWEST_FREE_CHARACTERS = 5
_SCRYPT = {"n": 2**15, "r": 8, "p": 1}
_SCRYPT_MEMORY = 64 * 2**20
# Each hash takes 32 MB; many logins at once wait for each other, not for memory.
_hashing = threading.BoundedSemaphore(4)

_WINDOW = timedelta(minutes=15)
_PAIR_LIMIT = 5  # failures of one name from one address
_ADDRESS_LIMIT = 50  # failures from one address under any name; an office shares one
_ACCOUNT_LIMIT = 20  # failures of one name from anywhere
_FIRST_WAIT = 5.0
_LONGEST_WAIT = 60.0  # guessing is slowed down; nobody is locked out
_DEVICE = "device "  # before the id of a browser, where else an address stands
_KNOWN_FOR = timedelta(days=30)
_LONGEST_DETAIL = 500


class Session(NamedTuple):
    """A live session: whose, and the token that its forms carry."""

    account: Account
    csrf_token: str
    expires_at: datetime
    renewed: bool = False  # just now: the browser has to hear of it


class Invite(msgspec.Struct, frozen=True, kw_only=True):
    """A link that makes an account, or sets the password of the one it names."""

    role: Role
    account: str | None
    invited_by: str
    expires_at: datetime


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the audit trail."""

    event_id: str
    happened_at: datetime
    account: str | None
    event: str
    subject: str | None
    detail: str | None


# Accounts


def create_account(store: Store, name: str, role: Role, password: str, now: datetime) -> Account:
    """Make an account.

    Raises:
        RefusedError: the name is taken or can't be one, or the password won't do.
    """
    _check_name(name)
    hashed = _hash_new_password(name, password)
    with store.write():
        return _insert_account(store, name, role, hashed, now)


def read_account(store: Store, name: str) -> Account | None:
    """Return an account, disabled ones too."""
    found = store.query(_SQL["read_account"], {"account": name})
    return _to_account(found[0][:4]) if found else None


def list_accounts(store: Store) -> list[Account]:
    """Return all accounts by name."""
    return [_to_account(row) for row in store.query(_SQL["list_accounts"])]


def check_password(store: Store, name: str, password: str) -> Account | None:
    """Return the account of a right name and password, or None.

    An unknown name costs as much time as a wrong password.
    """
    found = store.query(_SQL["read_account"], {"account": name})
    right = verify_password(password, found[0][4] if found else _dummy_hash())
    if not found or not right:
        return None
    account = _to_account(found[0][:4])
    return None if account.disabled_at else account


def change_password(store: Store, name: str, password: str) -> None:
    """Set a password, and end all sessions of the account."""
    hashed = _hash_new_password(name, password)
    with store.write():
        _require_account(store, name)
        _set_password(store, name, hashed)


def change_role(store: Store, name: str, role: Role) -> None:
    """Give an account another role; it holds from the next request on."""
    if role not in ROLES:
        raise RefusedError(describe_unknown("role", role, ROLES))
    with store.write():
        account = _require_account(store, name)
        if account.role == "admin" and role != "admin":
            _keep_an_admin(store, name)
        store.execute(_SQL["set_role"], {"account": name, "role": role})


def disable_account(store: Store, name: str, now: datetime) -> None:
    """Shut an account out at once; its labels stay."""
    with store.write():
        account = _require_account(store, name)
        if account.role == "admin":
            _keep_an_admin(store, name)
        store.execute(_SQL["set_disabled"], {"account": name, "disabled_at": now})
        store.execute(_SQL["end_sessions_of"], {"account": name})
        store.execute(_SQL["end_invites_of"], {"account": name, "now": now})


def enable_account(store: Store, name: str) -> None:
    """Let a disabled account in again."""
    with store.write():
        _require_account(store, name)
        store.execute(_SQL["set_disabled"], {"account": name, "disabled_at": None})


def _insert_account(
    store: Store, name: str, role: Role, password_hash: str, now: datetime
) -> Account:
    if store.query(_SQL["find_name"], {"account": name}):
        raise RefusedError(f"the name {name} is taken; choose another")
    store.execute(
        _SQL["insert_account"],
        {"account": name, "role": role, "password_hash": password_hash, "now": now},
    )
    return Account(account=name, role=role, created_at=now)


def _check_no_labels(store: Store, name: str) -> None:
    """Refuse a name that stands beside labels already: its labels would pass for one person's."""
    if store.query(_SQL["find_labeler"], {"account": name}):
        raise RefusedError(
            f"labels of someone called {name} were imported; choose another name, or ask an admin "
            "for a link in that name if they are yours"
        )


def _set_password(store: Store, name: str, password_hash: str) -> None:
    store.execute(_SQL["set_password"], {"account": name, "password_hash": password_hash})
    store.execute(_SQL["end_sessions_of"], {"account": name})
    store.execute(_SQL["drop_failures_of"], {"account": name})


def _require_account(store: Store, name: str) -> Account:
    account = read_account(store, name)
    if account is None:
        raise RefusedError(
            f"Unknown account {name!r}. `claimwise accounts list` shows all accounts."
        )
    return account


def _keep_an_admin(store: Store, name: str) -> None:
    if not store.query(_SQL["count_admins"], {"account": name})[0][0]:
        raise RefusedError(f"{name} is the only admin; make someone else an admin first")


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise RefusedError(
            "a name has 2 to 64 letters (a to z), digits and . _ @ -; choose another"
        )


# Passwords


def _hash_new_password(name: str, password: str) -> str:
    """Hash a password that someone chose for an account.

    Raises:
        RefusedError: it is too short or too long, or among the first that a guesser tries.
    """
    shortest, longest = _PASSWORD_LENGTHS
    if not shortest <= len(password) <= longest:
        raise RefusedError(
            f"a password has {shortest} to {longest:,} characters; a few words make a good one"
        )
    if count_free_characters(name, password) < _FEWEST_FREE_CHARACTERS:
        raise RefusedError(
            "this password is easy to guess: it is little more than a common word, your name, a "
            "row of keys or a repetition; a few words of your own make a good one"
        )
    return hash_password(password)


def count_free_characters(name: str, password: str) -> int:
    """Count the different characters of a password that a guesser can't expect.

    Expected are blanks, the account's name, common words (also with signs for letters), and
    characters that repeat the one before or come next to it, as in ``1234``.
    """
    text = unicodedata.normalize("NFKC", password).casefold()
    plain = text.translate(_LETTERS_FOR_SIGNS)
    expected = {n for n in range(1, len(text)) if abs(ord(text[n]) - ord(text[n - 1])) <= 1}
    for word in (name.casefold(), *_COMMON_WORDS):
        for look in (text, plain):
            for found in re.finditer(re.escape(word), look):
                expected.update(range(*found.span()))
    return len({c for n, c in enumerate(text) if n not in expected and not c.isspace()})


def hash_password(password: str) -> str:
    """Return what is kept of a password: how it was hashed, the salt, and the hash."""
    salt = secrets.token_bytes(16)
    return _write_hash(salt, _scrypt(password, salt, **_SCRYPT))


def verify_password(password: str, kept: str) -> bool:
    """Return whether a password is the one that was hashed."""
    _, n, r, p, salt, wanted = kept.split("$")
    if len(password) > _PASSWORD_LENGTHS[1]:
        password = ""
    found = _scrypt(password, base64.b64decode(salt), n=int(n), r=int(r), p=int(p))
    return hmac.compare_digest(found, base64.b64decode(wanted))


@cache
def _dummy_hash() -> str:
    return _write_hash(bytes(16), bytes(32))


def _write_hash(salt: bytes, found: bytes) -> str:
    parts = (base64.b64encode(part).decode() for part in (salt, found))
    return "$".join(("scrypt", *(str(_SCRYPT[name]) for name in "nrp"), *parts))


def _scrypt(password: str, salt: bytes, *, n: int, r: int, p: int) -> bytes:
    # The same letters can be typed as different code points on different keyboards.
    typed = unicodedata.normalize("NFKC", password).encode("utf-8", "surrogatepass")
    with _hashing:
        return hashlib.scrypt(typed, salt=salt, n=n, r=r, p=p, maxmem=_SCRYPT_MEMORY, dklen=32)


# Sessions


def create_session(store: Store, name: str, now: datetime) -> tuple[str, str]:
    """Start a session; return its token, which only the browser keeps, and its form token."""
    token, csrf = new_token(), new_token()
    with store.write():
        store.execute(_SQL["drop_old_sessions"], {"now": now})
        store.execute(
            _SQL["insert_session"],
            {
                "token_hash": hash_token(token),
                "account": name,
                "csrf_token": csrf,
                "now": now,
                "expires_at": now + SESSION_LIFE,
            },
        )
    return token, csrf


def read_session(store: Store, token: str, now: datetime) -> Session | None:
    """Return the live session of a token, renewed when that makes it an hour longer or more.

    Nobody stays logged in for longer than ``LONGEST_SESSION`` without a password.
    """
    key = hash_token(token)
    found = store.query(_SQL["read_session"], {"token_hash": key, "now": now})
    if not found:
        return None
    name, role, created_at, csrf, began_at, expires_at = found[0]
    session = Session(
        _to_account((name, role, created_at, None)), csrf, _to_time(expires_at) or now
    )
    later = min(now + SESSION_LIFE, (_to_time(began_at) or now) + LONGEST_SESSION)
    if later - session.expires_at >= _RENEW_AFTER:
        store.execute_all([(_SQL["renew_session"], {"token_hash": key, "expires_at": later})])
        session = session._replace(expires_at=later, renewed=True)
    return session


def end_session(store: Store, token: str) -> None:
    """End a session; one that is not there is no error."""
    store.execute_all([(_SQL["end_session"], {"token_hash": hash_token(token)})])


# Invites


def create_invite(
    store: Store,
    role: Role,
    invited_by: str,
    now: datetime,
    *,
    account: str | None = None,
    life: timedelta = INVITE_LIFE,
) -> str:
    """Make an invite; return its token, which is not kept and so is shown once.

    Args:
        store: where.
        role: what the new account may do; with ``account``, ignored: it keeps its own.
        invited_by: an admin's name, ``COMMAND_LINE`` or ``SETUP``.
        now: the time.
        account: an existing account whose password the invite sets.
        life: how long it is good for.

    Raises:
        RefusedError: there is no such role or account, or it is disabled; or the life is too long.
    """
    if role not in ROLES:
        raise RefusedError(describe_unknown("role", role, ROLES))
    if life > LONGEST_INVITE:
        hours = LONGEST_INVITE // timedelta(hours=1)
        raise RefusedError(f"a link can be valid for at most {hours} hours, not {life}")
    token = new_token()
    with store.write():
        if account is not None:
            kept = _require_account(store, account)
            if kept.disabled_at:
                raise RefusedError(f"{account} is disabled; enable the account first")
            role = kept.role
        store.execute(
            _SQL["insert_invite"],
            {
                "token_hash": hash_token(token),
                "role": role,
                "account": account,
                "invited_by": invited_by,
                "now": now,
                "expires_at": now + life,
            },
        )
    return token


def create_named_account(
    store: Store,
    name: str,
    role: Role,
    invited_by: str,
    now: datetime,
    *,
    life: timedelta = INVITE_LIFE,
) -> str:
    """Make an account under a name that an admin chose; return the token that sets its password.

    The name may stand beside labels that were imported: the admin says whose they are.

    Raises:
        RefusedError: another account or an instrument has the name, or it can't be one.
    """
    _check_name(name)
    unusable = _write_hash(secrets.token_bytes(16), secrets.token_bytes(32))
    with store.write():
        _insert_account(store, name, role, unusable, now)
        return create_invite(store, role, invited_by, now, account=name, life=life)


def create_setup_invite(store: Store, now: datetime) -> str | None:
    """Return the token that makes the first admin, or None when there are accounts."""
    with store.write():
        if list_accounts(store):
            return None
        store.execute(_SQL["end_setup_invites"], {"invited_by": SETUP, "now": now})
        return create_invite(store, "admin", SETUP, now, life=SETUP_LIFE)


def read_invite(store: Store, token: str, now: datetime) -> Invite | None:
    """Return an invite that still holds, or None."""
    found = store.query(_SQL["read_invite"], {"token_hash": hash_token(token), "now": now})
    return _to_invite(found[0]) if found else None


def list_invites(store: Store, now: datetime) -> list[Invite]:
    """Return the invites that still hold, the next to expire first."""
    return [_to_invite(row) for row in store.query(_SQL["list_invites"], {"now": now})]


def use_invite(store: Store, token: str, name: str, password: str, now: datetime) -> Account:
    """Make the account of an invite, or set the password of the one it names. Works once.

    Raises:
        RefusedError: the invite is used, expired or unknown, or name or password won't do; then
            the invite still holds.
    """
    _check_name(name)
    hashed = _hash_new_password(name, password)
    with store.write():
        invite = read_invite(store, token, now)
        if invite is None or (invite.invited_by == SETUP and list_accounts(store)):
            raise RefusedError("this link has been used or has expired; ask for another")
        store.execute(_SQL["use_invite"], {"token_hash": hash_token(token), "now": now})
        if invite.account is None:
            if invite.invited_by != SETUP:
                _check_no_labels(store, name)
            return _insert_account(store, name, invite.role, hashed, now)
        account = _require_account(store, invite.account)
        _set_password(store, invite.account, hashed)
        store.execute(_SQL["end_invites_of"], {"account": invite.account, "now": now})
        return account


# Failed logins


def create_device(store: Store, name: str) -> str:
    """Return a cookie that says of a browser: this account has logged in with it.

    It is signed with what is kept of the account's password, so nothing more is stored, and a new
    password makes older ones worthless.
    """
    device = new_token()
    kept = store.query(_SQL["read_account"], {"account": name})[0][4]
    return f"{device}.{_sign_device(name, device, kept)}"


def name_failure_source(store: Store, name: str, address: str, cookie: str) -> str:
    """Return what the failures of a name are counted by: its known browser, else the address.

    Guesses of others never count against a browser that the account has logged in with, whatever
    address they come from or pretend to come from.
    """
    device, _, signature = cookie.partition(".")
    found = store.query(_SQL["read_account"], {"account": name})
    if not found or not hmac.compare_digest(
        signature.encode("utf-8", "replace"), _sign_device(name, device, found[0][4]).encode()
    ):
        return address
    return f"{_DEVICE}{device}"


def _sign_device(name: str, device: str, kept: str) -> str:
    text = f"{_DEVICE}{device} of {name}".encode("utf-8", "replace")
    return hmac.new(kept.encode(), text, hashlib.sha256).hexdigest()


def record_failure(store: Store, name: str, source: str, now: datetime) -> float:
    """Count a login as failed before it is tried; return how long to wait instead, or 0.

    A login that turns out right takes its failure back (:func:`forget_failures`). So a hundred
    guesses sent at once count as a hundred. While there is a wait nothing is recorded: who knocks
    on and on does not prolong it. After the clock was set back, failures that lie ahead count as
    of now: a wait starts over at most, and does not last until the clock gets there again.
    """
    with store.write():
        store.execute(_SQL["pull_back_failures"], {"now": now})
        wait = count_failures(store, name, source, now)
        if wait <= 0:
            store.execute(_SQL["drop_old_failures"], {"before": now - timedelta(days=1)})
            key = {"failure_id": secrets.token_hex(16), "account": name, "address": source}
            store.execute(_SQL["insert_failure"], {**key, "now": now})
    return wait


def count_failures(store: Store, name: str, source: str, now: datetime) -> float:
    """Return how many seconds a name from a source has to wait before the next try.

    From a limit on 5 s, doubled by each further failure, up to a minute. Three counts of the last
    15 minutes have limits. One name from one source: 5. One address, any name: 50, as many people
    may share it. One name from anywhere: 20, and not for an address that the account logged in
    from lately. A browser that the account knows (:func:`name_failure_source`) has only the first.
    """
    params = {"account": name, "address": source, "since": now - _WINDOW}
    pair, pair_last, near, near_last, far, far_last = store.query(_SQL["count_failures"], params)[0]
    own = _wait_left(pair, pair_last, now, _PAIR_LIMIT)
    if source.startswith(_DEVICE):
        return own
    wait = max(own, _wait_left(near, near_last, now, _ADDRESS_LIMIT))
    spread = _wait_left(far, far_last, now, _ACCOUNT_LIMIT)
    if spread > wait and not _knows_address(store, name, source, now):
        return spread
    return wait


def forget_failures(store: Store, name: str, source: str) -> None:
    """Forget the failures of a name from a source, after the right password."""
    store.execute_all([(_SQL["drop_failures"], {"account": name, "address": source})])


def _wait_left(count: int, last: Any, now: datetime, limit: int) -> float:
    latest = _to_time(last)
    if count < limit or latest is None:
        return 0.0
    wait = min(_LONGEST_WAIT, _FIRST_WAIT * 2.0 ** min(count - limit, 20))
    return min(wait, max(0.0, wait - (now - latest).total_seconds()))


def _knows_address(store: Store, name: str, address: str, now: datetime) -> bool:
    params = {"account": name, "address": address, "since": now - _KNOWN_FOR}
    return bool(store.query(_SQL["knows_address"], params))


# The audit trail


def add_event(
    store: Store,
    event: str,
    *,
    account: str | None,
    subject: str | None = None,
    detail: str | None = None,
    now: datetime,
) -> None:
    """Add a line to the audit trail; inside ``store.write()`` it is part of that transaction."""
    params = {
        "event_id": secrets.token_hex(16),
        "now": now,
        "account": account,
        "event": event,
        "subject": _clip(subject),
        "detail": _clip(detail),
    }
    store.execute_all([(_SQL["insert_event"], params)])


def list_events(
    store: Store,
    *,
    account: str | None = None,
    event: str | None = None,
    before: Event | None = None,
    limit: int = 50,
) -> list[Event]:
    """Return lines of the audit trail, the newest first, older than ``before``."""
    params = {
        "account": account,
        "event": event,
        "before": before.event_id if before else None,
        "before_time": before.happened_at if before else None,
        "limit": limit,
    }
    rows = store.query(_SQL["list_events"], params)
    return [
        msgspec.convert(dict(zip(Event.__struct_fields__, row, strict=True)), Event, strict=False)
        for row in rows
    ]


def list_event_kinds(store: Store) -> list[str]:
    """Return the kinds of events that happened so far."""
    return [row[0] for row in store.query(_SQL["list_event_kinds"])]


def _clip(text: str | None) -> str | None:
    return None if text is None else text.replace("\0", "␀")[:_LONGEST_DETAIL]


# Rows and tokens


def _to_account(row: tuple[Any, ...]) -> Account:
    fields = dict(zip(Account.__struct_fields__, row, strict=True))
    return msgspec.convert(fields, Account, strict=False)


def _to_invite(row: tuple[Any, ...]) -> Invite:
    fields = dict(zip(Invite.__struct_fields__, row, strict=True))
    return msgspec.convert(fields, Invite, strict=False)


def _to_time(value: Any) -> datetime | None:
    """Return a time; SQLite gives text."""
    return datetime.fromisoformat(value) if isinstance(value, str) else value


def new_token() -> str:
    """Return a token that nobody can guess."""
    return secrets.token_urlsafe(32)


def hash_token(token: str) -> str:
    """Return what is kept of a token: it is long and random, so a plain hash tells nobody."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
