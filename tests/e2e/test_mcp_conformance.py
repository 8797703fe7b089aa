"""The official conformance suite against nanocoder as a client and as a server.

mcp_scenarios.txt has the scenarios and how many checks of each pass; this runs them.
"""

import http.client
import http.server
import json
import os
import re
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import repository
from place import Place
from served_http import TOKEN, served

pytestmark = [
    pytest.mark.full,
    pytest.mark.timeout(400),
    pytest.mark.needs("node", "npm"),
    pytest.mark.contract("I24"),
    pytest.mark.contract("I25"),
]
SCENARIOS = repository.ROOT / "tests/e2e/mcp_scenarios.txt"
LATEST = "2026-07-28"
BEFORE = "2025-11-25"
SIDE = r"((?:client|server)(?:, [\d-]+)?)"
ROW = re.compile(rf"^\| `([\w/-]+)` \| {SIDE} \| (\d+) of (\d+) \|", re.MULTILINE)
LOGIN_ROW = re.compile(rf"^\| (`auth/.+`) \| {SIDE} \| every check \|$", re.MULTILINE)
CLIENT = repository.ROOT / "plugins/nanocoder-mcp/tests/programs/conformance_client.py"
NOTES = frozenset({"INFO", "SKIPPED"})
"""What is no check: remarks, and checks of what is not offered."""
RAW_TOOLS = ("json_schema_2020_12_tool", "test_x_mcp_header")
WRITE = "NANOCODER_WRITE_CONFORMANCE"
"""With this variable the list gets what passes now, and the test holds it against that."""


def scenarios(side):
    """Return the scenarios of the list that judge one side, with the checks that pass, of all."""
    rows = ROW.findall(SCENARIOS.read_text(encoding="utf-8"))
    return {name: (int(passed), int(every)) for name, of, passed, every in rows if of == side}


@pytest.fixture
def judge(foreign, nanocoder):
    """Return a function that runs the suite and returns the checks of each scenario by outcome."""
    variables = {**nanocoder.environment, "PATH": foreign.path}

    def run(side, *words, revision=""):
        folder = nanocoder.home / (revision or "results")
        suite = [foreign["conformance"], side]
        if revision:
            suite = [foreign.next_suite, side, "--spec-version", revision]
        subprocess.run(
            [*suite, "-o", str(folder), *words],
            cwd=nanocoder.cwd,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            timeout=300,
            check=False,  # it fails for what is not offered, too
        )
        files = sorted(folder.rglob("checks.json"))
        return {scenario_of(file, folder): json.loads(file.read_text()) for file in files}

    return run


def scenario_of(file, folder):
    """Return the scenario whose checks are in *file*; its folder adds a side and a time to it."""
    name = re.sub(r"-\d{4}-\d\d-\d\dT.*", "", str(file.parent.relative_to(folder)))
    return name.removeprefix("server-")


def counts(checks):
    """Return how many checks passed, and of how many; notes are none."""
    states = [check["status"] for check in checks if check["status"] not in NOTES]
    return states.count("SUCCESS"), len(states)


def compare(results, side):
    """Hold the results against the page."""
    got = {name: counts(checks) for name, checks in results.items()}
    problems = [
        (name, check["id"], check.get("errorMessage", ""))
        for name, checks in sorted(results.items())
        for check in checks
        if check["status"] not in {"SUCCESS", *NOTES}
    ]
    print(*problems, sep="\n")
    if os.environ.get(WRITE):
        write_counts(got, side)
    assert got == scenarios(side)


def compare_logins(results, side):
    """Hold the results of logins, whose number of checks is not always the same."""
    all_rows = LOGIN_ROW.findall(SCENARIOS.read_text(encoding="utf-8"))
    rows = [names for names, of in all_rows if of == side]
    assert {name for names in rows for name in re.findall(r"`([^`]+)`", names)} == results.keys()
    for name, checks in results.items():
        passed, every = counts(checks)
        assert passed == every > 0, (name, checks)


def write_counts(got, side):
    """Write how many checks of each scenario passed into the page."""

    def row(match):
        if match[2] != side or match[1] not in got:
            return match[0]
        passed, every = got[match[1]]
        return f"| `{match[1]}` | {side} | {passed} of {every} |"

    SCENARIOS.write_text(ROW.sub(row, SCENARIOS.read_text(encoding="utf-8")), encoding="utf-8")


def test_the_client_passes_what_the_page_says(judge):
    command = f"{sys.executable} {CLIENT}"
    results = {}
    for name in scenarios("client"):
        results |= judge("client", "--scenario", name, "--command", command)
    compare(results, "client")


def test_the_client_passes_every_check_of_a_login_as_the_page_says(judge):
    results = judge("client", "--suite", "auth", "--command", f"{sys.executable} {CLIENT}")
    compare_logins(results, "client")


def test_the_client_passes_the_latest_revision_as_the_page_says(judge):
    command = ("--command", f"{sys.executable} {CLIENT}", "--timeout", "120000")
    results = judge("client", "--suite", "all", *command, revision=LATEST)
    logins = {name: checks for name, checks in results.items() if name.startswith("auth/")}
    compare_logins(logins, f"client, {LATEST}")
    others = {name: checks for name, checks in results.items() if name not in logins}
    compare(others, f"client, {LATEST}")


def test_the_server_passes_what_the_page_says(judge, tmp_path):
    (tmp_path / "served").mkdir()
    with served_tools(Place(tmp_path / "served")) as address, with_token(address) as url:
        results = judge("server", "--suite", "all", "--url", url)
        latest = judge("server", "--suite", "all", "--url", url, revision=LATEST)
        before = {}
        for name in scenarios(f"server, {BEFORE}"):
            before |= judge("server", "--scenario", name, "--url", url, revision=BEFORE)
    compare(results, "server")
    compare(latest, f"server, {LATEST}")
    compare(before, f"server, {BEFORE}")


@contextmanager
def served_tools(place):
    """Serve the suite's tools, which come from an installed plugin; provides the address."""
    for name in sorted(with_kits("nanocoder-mcp", "nanocoder-mcp-server")):
        place.bring(name)
    text = Path(__file__).with_name("suite_tools.py").read_text(encoding="utf-8")
    # The suite leaves calls that ask, and comes back with others.
    settings = place.home / ".config/nanocoder/config.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text("[plugins.mcp-server]\npatience_s = 0.5\n")
    place.install("suite-tools", {"suite_tools.py": text}, plugin="suite-tools")
    names = ",".join([*re.findall(r'tool\(name="(\w+)"', text), *RAW_TOOLS])
    command = [str(place.venv / "bin/python"), "-P", "-m", "nanocoder"]
    environment = {"HOME": str(place.home), "PATH": os.defpath}
    with served(command, names, place.work, environment) as address:
        yield address


def with_kits(*names):
    """Return packages of this repository, and the kits that they need."""
    packages = {package.name: package for package in repository.plugins()}
    waiting, needed = [*names], set()
    while waiting:
        name = waiting.pop()
        if name in packages and name not in needed:
            needed.add(name)
            waiting += packages[name].required
    return needed


@contextmanager
def with_token(address):
    """Serve *address* to clients that bring no token; provides the address of that."""
    target = urlsplit(address)

    class Forwarding(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.0"  # each reply ends with its connection

        def forward(self):
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            connection = http.client.HTTPConnection(target.hostname, target.port, timeout=60)
            # Host and Origin go on as they came: the server judges them.
            headers = {**self.headers, "authorization": f"Bearer {TOKEN}"}
            connection.request(self.command, self.path, body, headers)
            reply = connection.getresponse()
            self.send_response(reply.status)
            for name, value in reply.getheaders():
                if name.lower() not in {"transfer-encoding", "connection", "date", "server"}:
                    self.send_header(name, value)
            self.end_headers()
            with suppress(OSError, http.client.HTTPException):  # a side may have left
                while piece := reply.read1(65_536):
                    self.wfile.write(piece)
            connection.close()

        do_GET = do_POST = do_DELETE = forward  # noqa: N815 - names of the standard library

        def log_message(self, *_):
            """Say nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Forwarding) as proxy:
        proxy.daemon_threads = True
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{proxy.server_port}{target.path}"
        proxy.shutdown()
