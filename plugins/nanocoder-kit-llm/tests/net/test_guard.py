"""Which addresses are refused, in whatever spelling, and that each is looked up once."""

import socket

import pytest
from nanocoder import Cancel, ToolError
from nanocoder_kit_llm.net import (
    Guard,
    Limits,
    fetch,
    is_public,
    parse_host_rules,
    parse_rules,
    parse_url,
)

# SSRF-002, 004, 006, 009, 010, 012, 014, 017, 018, 022, 023, 025
LOOPBACK = [
    "127.0.0.1",
    "localhost",
    "LOCALHOST",
    "localhost.",
    "127.127.127.127",
    "127.1",
    "127.0.1",
    "2130706433",
    "0x7f000001",
    "0x7F.0.0.1",
    "0x7f.1",
    "017700000001",
    "0177.0.0.1",
    "0177.1",
    "0",
    "0.0.0.0",
    "127.0.0.1.",
    "[::1]",
    "[::]",
    "[0:0:0:0:0:0:0:1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[0:0:0:0:0:ffff:127.0.0.1]",
    "[::127.0.0.1]",
    "[64:ff9b::127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[2002:7f00:1::]",
    "[fec0::1]",
    "[fe80::1]",
    "[fc00::1]",
    "[ff02::1]",
    "\uff11\uff12\uff17.0.0.1",
    "127\u30020\u30020\u30021",
    "\u2460\u2461\u2466.0.0.1",
    "example.test@127.0.0.1",
    "example.test\\@127.0.0.1",
    "user:password@127.0.0.1",
]
# SSRF-029
METADATA = [
    "169.254.169.254",
    "0xA9FEA9FE",
    "2852039166",
    "[::ffff:a9fe:a9fe]",
    "[fd00:ec2::254]",
    "100.100.100.200",
    "192.0.0.192",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.1.1",
    "198.18.0.1",
    "224.0.0.1",
    "255.255.255.255",
    "0251.0376.0251.0376",
    "0xa9.0376.43518",
    "169.254.43518",
    "10.1",
    "012.1",
    "172.31.255.254",
    "192.168.257",
    "100.64.0.1",
    "[::10.0.0.1]",
    "[64:ff9b::a00:1]",
    "[2002:a00:1::]",
    "[::ffff:192.168.1.1]",
]


def ask(url, guard=None, **limits):
    return fetch(parse_url(url), guard or Guard(), cancel=Cancel(), limits=Limits(**limits))


def refusal(url, guard=None, **limits):
    with pytest.raises(ToolError) as caught:
        ask(url, guard, **limits)
    return caught.value.error_class


@pytest.mark.contract("MA-65")
@pytest.mark.parametrize("host", LOOPBACK)
def test_this_machine_is_refused_in_every_spelling(host, server):
    assert refusal(f"http://{host}:{server.port}/", seconds=3) == "private_address"
    assert server.hits == []


@pytest.mark.contract("MA-65")
@pytest.mark.parametrize("host", METADATA)
def test_private_networks_and_metadata_are_refused(host, monkeypatch):
    monkeypatch.setattr(socket, "create_connection", lambda *_, **__: pytest.fail("connected"))
    assert refusal(f"http://{host}/latest/meta-data/") == "private_address"


# SSRF-024
@pytest.mark.contract("MA-65")
@pytest.mark.parametrize("tail", ["#@example.test/", "/?x=@example.test", "/path"])
def test_what_follows_the_host_does_not_hide_it(tail, server):
    assert refusal(f"http://127.0.0.1:{server.port}{tail}") == "private_address"


class Network:
    """Names resolve to what a test says, in order; connections to 203.0.113.x reach a server."""

    def __init__(self, monkeypatch, port):
        self.names = {}
        self.looked_up = []
        self.connected = []
        really = socket.create_connection

        def look_up(host, port, *args, **kwargs):
            if host not in self.names:
                return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, port))]
            self.looked_up.append(host)
            answers = self.names[host]
            found = answers.pop(0) if len(answers) > 1 else answers[0]
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port)) for one in found]

        def connect(address, *args, **kwargs):
            self.connected.append(address)
            if address[0].startswith("203.0.113."):
                return really(("127.0.0.1", port), *args, **kwargs)
            raise ConnectionRefusedError("refused")

        monkeypatch.setattr(socket, "getaddrinfo", look_up)
        monkeypatch.setattr(socket, "create_connection", connect)


@pytest.fixture
def network(monkeypatch, server):
    return Network(monkeypatch, server.port)


# SSRF-031
@pytest.mark.contract("MA-65")
def test_a_name_with_one_private_address_is_refused(network):
    network.names["mixed.test"] = [["203.0.113.10", "127.0.0.1"]]
    assert refusal("http://mixed.test/") == "private_address"
    assert network.connected == []


# SSRF-032
@pytest.mark.contract("MA-65")
def test_the_connection_goes_to_the_address_that_was_checked(network, server):
    network.names["rebind.test"] = [["203.0.113.10"], ["127.0.0.1"]]
    assert ask(f"http://rebind.test:{server.port}/").text == "CANARY-ssrf"
    assert network.looked_up == ["rebind.test"]
    assert network.connected == [("203.0.113.10", server.port)]
    assert server.hits[0][2]["host"] == f"rebind.test:{server.port}"
    assert refusal(f"http://rebind.test:{server.port}/") == "private_address"


def test_a_host_that_refuses_is_named(network):
    network.names["down.test"] = [["198.51.100.1", "198.51.100.2"]]
    with pytest.raises(ToolError, match=r"'down\.test' could not be reached on port 80") as caught:
        ask("http://down.test/")
    assert caught.value.error_class == "connect_failed"
    assert len(network.connected) == 2


def test_a_name_that_nobody_has_is_named(network):
    network.names["none.test"] = [[]]
    assert refusal("http://none.test/") == "host_not_found"


# SSRF-035
@pytest.mark.contract("MA-65")
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_checked_like_the_first_address(network, server, other, status):
    network.names["public.test"] = [["203.0.113.10"]]
    server.pages["/go"] = server.redirect(f"http://127.1:{other.port}/", status)
    assert refusal(f"http://public.test:{server.port}/go") == "private_address"
    assert other.hits == []


# SSRF-036
@pytest.mark.parametrize(
    "location", ["file:///etc/hostname", "gopher://127.0.0.1/_x", "data:text/plain,CANARY-ssrf"]
)
def test_a_redirect_stays_in_the_web(network, server, location):
    network.names["public.test"] = [["203.0.113.10"]]
    server.pages["/go"] = server.redirect(location)
    assert refusal(f"http://public.test:{server.port}/go") == "scheme_not_allowed"


def test_credentials_in_an_address_are_refused_and_never_sent(network, server):
    network.names["public.test"] = [["203.0.113.10"]]
    assert refusal(f"http://user:secret@public.test:{server.port}/") == "invalid_url"
    assert server.hits == []


def test_nothing_of_the_persons_goes_along(network, server, other, monkeypatch, tmp_path):
    network.names["public.test"] = [["203.0.113.10"]]
    (tmp_path / ".netrc").write_text("machine public.test login u password SECRET-7f3a\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, other.url)
    ask(f"http://public.test:{server.port}/")
    [(_, _, headers)] = server.hits
    assert sorted(headers) == ["accept", "accept-encoding", "host", "user-agent"]
    assert other.hits == []


# SSRF-056
def test_a_rule_allows_one_port_and_no_redirect_to_another(server, other):
    guard = Guard(parse_rules([f"127.0.0.1:{server.port}"]))
    assert ask(server.url, guard).status == 200
    assert refusal(other.url, guard) == "private_address"
    server.pages["/go"] = server.redirect(other.url)
    assert refusal(f"{server.url}/go", guard) == "private_address"
    assert other.hits == []


def test_a_trusted_host_is_that_host_and_port_alone(server, other):
    guard = Guard(trusted=("127.0.0.1", server.port))
    assert ask(server.url, guard).status == 200
    assert refusal(other.url, guard) == "private_address"


# SSRF-041
@pytest.mark.parametrize(
    ("hosts", "url", "is_allowed"),
    [
        ([], "http://example.test/", False),
        (["example.test"], "http://example.test/", True),
        (["example.test"], "http://EXAMPLE.test./", True),
        (["example.test"], "http://example.test.evil.test/", False),
        (["example.test"], "http://evilexample.test/", False),
        (["example.test"], "http://www.example.test/", False),
        (["*.example.test"], "http://www.example.test/", True),
        (["*.example.test"], "http://example.test/", False),
        (["example.test"], "http://evil.test/?example.test", False),
    ],
)
def test_a_list_of_hosts_is_compared_label_by_label(network, hosts, url, is_allowed):
    for name in ("example.test", "www.example.test"):
        network.names[name] = [["203.0.113.10"]]
    guard = Guard(hosts=parse_host_rules(hosts))
    if is_allowed:
        assert ask(url, guard).status == 200
        return
    assert refusal(url, guard) == "not_allowlisted"
    assert network.connected == []


# SSRF-042
@pytest.mark.parametrize(
    "text",
    ["::1:443", "1", "127.1", "127.0.0.1:99x", "localhost", "", "10.0.0.1/8", "[::1"],
)
def test_an_ambiguous_rule_is_refused(text):
    with pytest.raises(ValueError, match=r"rule|ambiguous|host bits"):
        parse_rules([text])


@pytest.mark.parametrize("text", ["", "http://example.org", "example.org:80", "*", "*.", "a b"])
def test_an_odd_host_rule_is_refused(text):
    with pytest.raises(ValueError, match="is not a host"):
        parse_host_rules([text])


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("8.8.8.8", True),
        ("2606:4700:4700::1111", True),
        ("64:ff9b::808:808", True),
        ("64:ff9b::a00:1", False),
        ("64:ff9b:1::808:808", False),
        ("2001::1", False),
        ("2001:4860:4860::8888", True),
        ("100::1", False),
        ("5f00::1", False),
    ],
)
def test_what_is_public(address, expected):
    from ipaddress import ip_address

    assert is_public(ip_address(address)) is expected


def test_ssrf_045_046_no_proxy_of_the_environment_is_asked(server, other, monkeypatch):
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "all_proxy"):
        monkeypatch.setenv(name, other.url)
    assert refusal("http://169.254.169.254/") == "private_address"
    guard = Guard(parse_rules([f"127.0.0.1:{server.port}"]))
    assert ask(server.url, guard).text == "CANARY-ssrf"
    assert other.hits == []


def test_ssrf_047_no_password_of_a_netrc_is_sent(server, monkeypatch, tmp_path):
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login u password SECRET-7f3a\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    guard = Guard(parse_rules([f"127.0.0.1:{server.port}"]))
    ask(server.url, guard)
    assert "authorization" not in server.hits[0][2]


@pytest.mark.parametrize("name", ["metadata.google.internal", "instance-data"])
def test_ssrf_029_a_name_of_cloud_metadata_is_its_address(network, name):
    network.names[name] = [["169.254.169.254"]]
    assert refusal(f"http://{name}/computeMetadata/v1/") == "private_address"
    assert network.connected == []
