"""The clock over a real TLS connection, which is what providers have."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from pathlib import Path

import pytest

from claimwise.config import LlmSection
from claimwise.llm.client import LlmClient, open_client
from claimwise.llm.prompts import load_prompt
from claimwise.types.llm import LlmFailure, LlmReply
from support.clock import FakeClock
from support.faulty_server import FaultyServer

MODEL = "openai-compatible:m"

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("tls")
    key, cert = folder / "key.pem", folder / "cert.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1",
         "-keyout", str(key), "-out", str(cert)],
        check=True, capture_output=True,
    )  # fmt: skip
    return key, cert


def serve(certificate: tuple[Path, Path], clock: FakeClock, *script: str) -> FaultyServer:
    server = FaultyServer(script=script, clock=clock, slow=30.0, drip=20.0)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate[1], certificate[0])
    server._server.socket = context.wrap_socket(server._server.socket, server_side=True)
    return server


@pytest.fixture
def trusted(certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[1]))


def connect(server: FaultyServer, attempts: int = 1) -> LlmClient:
    environ = {"CLAIMWISE_BASE_URL": server.url.replace("http:", "https:")}
    return open_client(MODEL, environ=environ, timeout=60.0, section=LlmSection(attempts=attempts))


def ask(client: LlmClient, word: str = "hi") -> LlmReply | LlmFailure:
    return client.ask(load_prompt("ping").make_call(MODEL, word=word))


@pytest.mark.usefixtures("trusted")
def test_replies_come_over_tls(certificate: tuple[Path, Path], clock: FakeClock) -> None:
    """The second one takes longer than a read waits before it looks at the clock."""
    server = serve(certificate, clock, "ok", "slow", "reset", "ok")
    with server, connect(server, attempts=2) as client:
        for word in ("a", "b", "c"):
            assert isinstance(ask(client, word), LlmReply)
    assert server.count == 4


@pytest.mark.parametrize("fault", ["hang", "drip"])
@pytest.mark.usefixtures("trusted")
def test_the_clock_holds_over_tls(
    certificate: tuple[Path, Path], clock: FakeClock, fault: str
) -> None:
    began = clock.now
    server = serve(certificate, clock, fault)
    with server, connect(server) as client:
        outcome = ask(client)
        assert isinstance(outcome, LlmFailure)
        assert outcome.code == "timeout"
    assert clock.now - began == (60.0 if fault == "drip" else 3600.0)


def test_a_stranger_is_not_talked_to(certificate: tuple[Path, Path], clock: FakeClock) -> None:
    server = serve(certificate, clock)
    with server, connect(server) as client:
        outcome = ask(client)
    assert isinstance(outcome, LlmFailure)
    assert outcome.code == "connection"
    assert "certificate" in outcome.detail.lower()
    assert server.count == 0
