"""Programs inside reach the hosts on the list through the proxy, and nothing else."""

import pytest
from nanocoder_kit_llm.net.testing import PageServer
from nanocoder_kit_sandbox import Settings
from nanocoder_sandbox_bwrap.bubblewrap import Bubblewrap
from sandbox_attacks import inside  # noqa: F401

pytestmark = [pytest.mark.needs("bwrap"), pytest.mark.contract("E3")]
CURL = "curl -sS -m 10 --noproxy '' "
EVERY_LOOPBACK = ("loopback",)


@pytest.fixture
def box():
    """Open bubblewrap around a workspace."""
    return Bubblewrap


@pytest.fixture
def server():
    with PageServer() as pages:
        yield pages


@pytest.fixture
def allowed(server):
    return Settings(hosts=(f"localhost:{server.port}",), addresses=EVERY_LOOPBACK)


def test_an_allowed_host_is_reached(inside, server, allowed):  # noqa: F811
    done = inside.run(f"{CURL} http://localhost:{server.port}/; echo; echo $http_proxy", allowed)
    assert done.stdout == "CANARY-ssrf\nhttp://127.0.0.1:3128\n", done.stderr


@pytest.mark.parametrize(
    "attack",
    [
        CURL + "http://127.0.0.1:{port}/",
        CURL + "http://other.test:{port}/",
        "curl -sS -m 3 --noproxy '*' http://localhost:{port}/",
        "curl -sS -m 3 --proxy http://127.0.0.1:{port} http://localhost/",
        "exec 3<>/dev/tcp/127.0.0.1/{port}; echo GET / >&3; cat <&3",
    ],
)
def test_nothing_else_is_reached(inside, server, allowed, attack):  # noqa: F811
    done = inside.run(attack.replace("{port}", str(server.port)), allowed)
    assert "CANARY-ssrf" not in done.stdout
    assert server.hits == []


def test_without_hosts_there_is_no_proxy(inside):  # noqa: F811
    done = inside.run("ls /run; env | grep -ci proxy", Settings(hosts=()))
    assert "nanocoder.socket" not in done.stdout


def test_a_refused_host_is_named(inside, allowed):  # noqa: F811
    done = inside.run(f"{CURL} http://evil.test/", allowed)
    assert "'evil.test' is not among the hosts that the settings allow" in done.stdout
