from __future__ import annotations

import socket
import threading
from urllib.parse import quote
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claimwise.errors import StoreError
from claimwise.store import hide_password, open_store
from store.builders import base_rows, load

SECRET = "Hunter2"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://host/db", "postgresql://host/db"),
        ("postgresql://ann@host/db", "postgresql://ann@host/db"),
        (f"postgresql://ann:{SECRET}@host:5433/db", "postgresql://ann@host:5433/db"),
        (f"postgres://ann:{SECRET}@host", "postgres://ann@host"),
        (f"postgresql://ann:a@{SECRET}@host/db", "postgresql://ann@host/db"),
        (f"postgresql://ann:%40{SECRET}%2F@host/db", "postgresql://ann@host/db"),
        (f"postgresql://host/db?password={SECRET}", "postgresql://host/db"),
        (f"postgresql://host/db?user=a&password={SECRET}&schema=s",
         "postgresql://host/db?user=a&schema=s"),
        (f"postgresql://host/db?%70assword={SECRET}", "postgresql://host/db"),
        (f"postgresql://host/db?password={SECRET}&password=x", "postgresql://host/db"),
        (f"postgresql://:{SECRET}@host/db", "postgresql://host/db"),
    ],
)  # fmt: skip
def test_password_is_hidden(url: str, shown: str) -> None:
    assert hide_password(url) == shown


@pytest.mark.parametrize("option", ["sslpassword", "PASSWORD", "Password"])
def test_password_under_another_name_is_hidden(option: str) -> None:
    assert SECRET not in hide_password(f"postgresql://host/db?{option}={SECRET}")


@given(st.text("abcXYZ123!$&*()_+=.~", min_size=3), st.text("abc", min_size=1))
def test_password_never_shows(password: str, user: str) -> None:
    shown = hide_password(f"postgresql://{user}:{password}@host:5432/db?schema=s")
    assert shown == f"postgresql://{user}@host:5432/db?schema=s"


def test_url_without_a_host_stays_a_url() -> None:
    assert hide_password("postgresql:///db?host=/tmp") == "postgresql:///db?host=%2Ftmp"


def test_address_of_version_six_stays_readable() -> None:
    assert hide_password(f"postgresql://a:{SECRET}@[::1]:5432/db") == "postgresql://a@[::1]:5432/db"


def refusal(url: str) -> str:
    with pytest.raises(StoreError) as caught:
        open_store(url)
    message = str(caught.value)
    assert len(message.splitlines()) == 1
    assert SECRET not in message
    return message


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_unreachable_server_is_told() -> None:
    port = closed_port()
    message = refusal(f"postgresql://ann:{SECRET}@127.0.0.1:{port}/db")
    assert message.startswith(f"postgresql://ann@127.0.0.1:{port}/db: no answer from the database")
    assert "is it running" in message


def test_unknown_host_is_told() -> None:
    message = refusal(f"postgresql://ann:{SECRET}@no-such-host.invalid/db")
    assert "no answer from the database" in message


def test_silent_server_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("claimwise.store.postgres._CONNECT_SECONDS", 0.5)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        port = silent.getsockname()[1]
        assert "no answer" in refusal(f"postgresql://127.0.0.1:{port}/db")


def test_server_that_speaks_something_else_is_told() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]

        def answer() -> None:
            connection, _ = other.accept()
            connection.recv(1024)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            connection.close()

        thread = threading.Thread(target=answer)
        thread.start()
        refusal(f"postgresql://127.0.0.1:{port}/db?sslmode=disable")
        thread.join()


def test_wrong_database_is_told(postgres_server: str) -> None:
    message = refusal(postgres_server.rpartition("/")[0] + "/nowhere")
    assert 'database "nowhere" does not exist' in message


def test_wrong_user_is_told(postgres_server: str) -> None:
    message = refusal(postgres_server.replace("postgres@", f"nobody:{SECRET}@"))
    assert 'role "nobody" does not exist' in message


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://ann:{SECRET}@host:port/db",
        f"postgresql://ann:{SECRET}@host:99999/db",
        f"postgresql://ann:{SECRET}@127.0.0.1:99999/db",
        f"postgresql://ann:{SECRET}@127.0.0.1:-1/db",
        f"postgresql://ann:{SECRET}@[::1/db",
        f"postgresql://ann:{SECRET}/x@host/db",
    ],
)
def test_malformed_url_is_told(url: str) -> None:
    refusal(url)


def test_several_hosts_are_tried(postgres_server: str) -> None:
    address = postgres_server.partition("@")[2].partition("/")[0]
    place = f"postgresql://postgres@127.0.0.1:{closed_port()},{address}/postgres"
    with open_store(f"{place}?schema=s{uuid4().hex}", create=True) as store:
        assert store.missing_views() == []


def test_unknown_option_is_told(postgres_server: str) -> None:
    message = refusal(f"{postgres_server}?colour=blue")
    assert "colour" in message


def test_schemas_keep_stores_apart(postgres_server: str) -> None:
    name = uuid4().hex
    first, second = (f"{postgres_server}?schema={name}_{n}" for n in (1, 2))
    with open_store(first, create=True) as one, open_store(second, create=True) as two:
        load(one, *base_rows())
        assert one.count_rows()["runs"] == 1
        assert two.count_rows()["runs"] == 0
        assert one.place == first


@pytest.mark.parametrize(
    "schema", ['we"ird', "Upper Case", "ünïcode", "a;drop schema public", "a%b"]
)
def test_schema_with_an_odd_name_is_quoted(postgres_server: str, schema: str) -> None:
    url = f"{postgres_server}?schema={quote(schema)}"
    with open_store(url, create=True) as store:
        assert store.query("select current_schema()::text") == [(schema,)]
        load(store, *base_rows())
    with open_store(url) as store:
        assert store.count_rows()["runs"] == 1


def test_store_outside_a_schema_of_its_own_works(postgres_server: str) -> None:
    name = f"d{uuid4().hex}"
    with open_store(f"{postgres_server}?schema={name}", create=True) as admin:
        admin._engine.run_script(f"create database {name}")
    place = postgres_server.rpartition("/")[0] + f"/{name}"
    with open_store(place, create=True) as store:
        load(store, *base_rows())
        assert store.count_rows()["runs"] == 1
