"""Accounts, invites, sessions and waits, on both databases."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claimwise.accounts.queries import (
    _hash_new_password,
    add_event,
    change_password,
    check_password,
    count_failures,
    create_account,
    create_invite,
    create_named_account,
    create_setup_invite,
    disable_account,
    enable_account,
    forget_failures,
    hash_password,
    list_events,
    read_account,
    read_invite,
    record_failure,
    use_invite,
    verify_password,
)
from claimwise.errors import RefusedError
from claimwise.store import Store

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC).replace(tzinfo=None)
PASSWORD = "four plain words here"


@pytest.fixture
def store(quick_hashes: None, store: Store) -> Store:
    """An empty store; only the tests of hashes themselves take their full time."""
    return store


def test_a_hash_says_how_it_was_made_and_no_two_are_alike() -> None:
    first, second = hash_password(PASSWORD), hash_password(PASSWORD)
    assert first.startswith("scrypt$32768$8$1$")
    assert first != second
    assert verify_password(PASSWORD, first)
    assert not verify_password(PASSWORD + " ", first)
    assert not verify_password("", first)
    assert not verify_password("x" * 2000, first)


def test_letters_are_the_same_however_they_are_typed() -> None:
    assert verify_password("cafe\u0301 cafe\u0301 ok", hash_password("café café ok"))


def test_accounts_are_made_once(store: Store) -> None:
    made = create_account(store, "anna", "labeler", PASSWORD, NOW)
    assert read_account(store, "anna") == made
    for name in ("anna", "Anna"):
        with pytest.raises(RefusedError, match="taken"):
            create_account(store, name, "admin", PASSWORD, NOW)
    assert check_password(store, "anna", PASSWORD) == made
    assert check_password(store, "Anna", PASSWORD) is None
    assert check_password(store, "nobody", PASSWORD) is None


def test_an_instrument_s_name_is_not_for_people(store: Store) -> None:
    store.execute_all(
        [("insert into labelers (labeler, labeler_kind) values ('overlap-v0', 'verifier')", {})]
    )
    with pytest.raises(RefusedError, match="taken"):
        create_account(store, "overlap-v0", "labeler", PASSWORD, NOW)


def test_a_name_beside_labels_is_an_admin_s_to_give(store: Store) -> None:
    store.execute_all(
        [
            (f"insert into labelers (labeler, labeler_kind) values ('{name}', '{kind}')", {})
            for name, kind in (("ana", "human"), ("ben", "human"), ("judge-1", "verifier"))
        ]
    )
    setup = create_setup_invite(store, NOW)
    assert setup is not None
    assert use_invite(store, setup, "ana", PASSWORD, NOW).role == "admin", "she is the admin"
    token = create_invite(store, "labeler", "ana", NOW)
    for name in ("ben", "Ben"):
        with pytest.raises(RefusedError, match="were imported"):
            use_invite(store, token, name, PASSWORD, NOW)
    with pytest.raises(RefusedError, match="taken"):
        create_named_account(store, "judge-1", "labeler", "ana", NOW)
    named = create_named_account(store, "ben", "adjudicator", "ana", NOW)
    assert use_invite(store, named, "ben", PASSWORD, NOW).role == "adjudicator"
    assert check_password(store, "ben", PASSWORD) is not None


def test_an_invite_has_a_longest_life(store: Store) -> None:
    month = timedelta(days=30)
    assert read_invite(store, create_invite(store, "labeler", "root", NOW, life=month), NOW)
    with pytest.raises(RefusedError, match="at most 720 hours"):
        create_invite(store, "labeler", "root", NOW, life=month + timedelta(hours=1))


@pytest.mark.parametrize(
    "password",
    ["            ", "aaaaaaaaaaaa", "abababababab", "password1234", "P@ssw0rd1234",
     "PASSWORD2026!", "123456789012", "qwertyuiop12", "iloveyou1234", "annaanna1234",
     "ANNA-anna-anna", "admin admin 1", "abcdefghijkl", "lkjihgfedcba",
     "\u2003" * 12, "claimwise2026", "letmein!!!!!!"],
)  # fmt: skip
def test_passwords_that_are_guessed_first_are_refused(password: str) -> None:
    with pytest.raises(RefusedError, match="easy to guess"):
        _hash_new_password("anna", password)


def test_easy_passwords_are_refused_wherever_one_is_chosen(store: Store) -> None:
    create_account(store, "anna", "labeler", PASSWORD, NOW)
    token = create_invite(store, "labeler", "anna", NOW)
    for choose in (
        lambda: create_account(store, "bob", "labeler", "bob password1234", NOW),
        lambda: change_password(store, "anna", "anna password"),
        lambda: use_invite(store, token, "bob", "bob password1234", NOW),
    ):
        with pytest.raises(RefusedError, match="easy to guess"):
            choose()


@pytest.mark.parametrize(
    "password",
    ["four plain words here", "anna likes green tea", "x7$kQ!w9Zp2m", "correct horse battery",
     "мой дом стоит у реки", "一二三四五六七八九十百千", "my password is long"],
)  # fmt: skip
def test_other_passwords_are_taken(quick_hashes: None, password: str) -> None:
    assert verify_password(password, _hash_new_password("anna", password))


def test_an_account_can_be_shut_out_and_let_in_again(store: Store) -> None:
    create_account(store, "anna", "labeler", PASSWORD, NOW)
    reset = create_invite(store, "admin", "root", NOW, account="anna")
    invite = read_invite(store, reset, NOW)
    assert invite is not None
    assert invite.role == "labeler", "a new password is no new role"
    disable_account(store, "anna", NOW)
    assert check_password(store, "anna", PASSWORD) is None
    assert read_invite(store, reset, NOW) is None
    with pytest.raises(RefusedError, match="disabled"):
        create_invite(store, "labeler", "root", NOW, account="anna")
    enable_account(store, "anna")
    assert check_password(store, "anna", PASSWORD) is not None


def test_an_invite_whose_name_is_taken_still_holds(store: Store) -> None:
    create_account(store, "anna", "labeler", PASSWORD, NOW)
    token = create_invite(store, "labeler", "root", NOW)
    with pytest.raises(RefusedError, match="taken"):
        use_invite(store, token, "anna", PASSWORD, NOW)
    assert use_invite(store, token, "bob", PASSWORD, NOW).account == "bob"
    with pytest.raises(RefusedError, match="used or has expired"):
        use_invite(store, token, "carl", PASSWORD, NOW)


def fail(store: Store, name: str, address: str, times: int, start: datetime) -> datetime:
    """Fail as fast as the waits allow; return when the last failure was."""
    now = start
    for _ in range(times):
        wait = count_failures(store, name, address, now)
        now += timedelta(seconds=wait + 0.001)
        assert record_failure(store, name, address, now) == 0
    return now


def test_waits_grow_and_end(store: Store) -> None:
    last = fail(store, "anna", "a", 5, NOW)
    assert count_failures(store, "anna", "a", last) == pytest.approx(5)
    last = fail(store, "anna", "a", 1, last)
    assert count_failures(store, "anna", "a", last) == pytest.approx(10)
    last = fail(store, "anna", "a", 1, last)
    assert count_failures(store, "anna", "a", last) == pytest.approx(20)
    assert count_failures(store, "anna", "a", last + timedelta(minutes=16)) == 0
    assert count_failures(store, "anna", "b", last) == 0, "elsewhere she may try"
    assert count_failures(store, "bob", "a", last) == 0, "and others may from there"
    forget_failures(store, "anna", "a")
    assert count_failures(store, "anna", "a", last) == 0


def test_one_address_with_many_names_waits(store: Store) -> None:
    for number in range(50):
        assert record_failure(store, f"name{number}", "a", NOW) == 0
    assert record_failure(store, "another", "a", NOW) == pytest.approx(5)
    assert record_failure(store, "another", "b", NOW) == 0


def test_others_cannot_lock_an_account_s_owner_out(store: Store) -> None:
    """Many addresses at one name: a minute at most, and none where the owner logged in before."""
    add_event(store, "login", account="root", detail="home", now=NOW - timedelta(days=3))
    now = NOW
    for number in range(60):
        now += timedelta(seconds=count_failures(store, "root", f"far{number}", now))
        record_failure(store, "root", f"far{number}", now)
    assert 0 < count_failures(store, "root", "elsewhere", now) <= 60
    assert count_failures(store, "root", "home", now) == 0


def test_a_clock_set_back_makes_nobody_wait_for_it(store: Store) -> None:
    last = fail(store, "anna", "a", 6, NOW)
    earlier = last - timedelta(days=1)
    wait = record_failure(store, "anna", "a", earlier)
    assert wait == pytest.approx(10)
    assert record_failure(store, "anna", "a", earlier + timedelta(seconds=4)) == pytest.approx(6)
    assert record_failure(store, "anna", "a", earlier + timedelta(seconds=10)) == 0


@given(times=st.integers(0, 40), later=st.floats(-100_000, 2000))
def test_a_wait_is_never_negative_nor_over_a_minute(times: int, later: float) -> None:
    from claimwise.accounts.queries import _wait_left

    wait = _wait_left(times, NOW, NOW + timedelta(seconds=later), 5)
    assert 0 <= wait <= 60
    assert wait == 0 or times >= 5


def test_events_are_listed_page_by_page_without_gap_or_repeat(store: Store) -> None:
    for number in range(25):
        now = NOW + timedelta(seconds=number // 5)  # several at the same moment
        add_event(store, "label", account="anna", subject=str(number), now=now)
    found, before = [], None
    while page := list_events(store, before=before, limit=4):
        found += page
        before = page[-1]
    assert sorted(int(event.subject or "") for event in found) == list(range(25))
    assert [event.happened_at for event in found] == sorted(
        (event.happened_at for event in found), reverse=True
    )
    assert list_events(store, account="bob") == []
    assert len(list_events(store, event="label", limit=100)) == 25
