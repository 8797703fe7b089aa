"""Over https: a certificate that is trusted, one that is not, and whose certificates count."""

import http.server
import ssl
import subprocess
import threading

import pytest
from nanocoder import Cancel, ProviderError
from nanocoder_kit_llm.http import Client

pytestmark = pytest.mark.needs("openssl")


class Hello(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        body = b'{"hello": "over tls"}'
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    subprocess.run([*command, *files, *names], check=True, capture_output=True)
    return folder


@pytest.fixture
def address(certificate):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hello)
    server.daemon_threads = True
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"https://localhost:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def ask(address):
    client = Client(address)
    try:
        return client.get_json("/hello", Cancel())
    finally:
        client.close()


def test_a_company_names_its_own_certificates(address, certificate, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate / "cert.pem"))
    assert ask(address) == {"hello": "over tls"}


def test_a_certificate_that_nobody_vouches_for_is_refused_with_advice(address, monkeypatch):
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.delenv("SSL_CERT_DIR", raising=False)
    with pytest.raises(ProviderError, match=r"not trusted.*SSL_CERT_FILE"):
        ask(address)


def test_a_server_without_tls_is_not_called_silent():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hello) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"https://127.0.0.1:{server.server_port}"
        with pytest.raises(ProviderError, match=f"what answers at {address} speaks no TLS"):
            ask(address)
        server.shutdown()
