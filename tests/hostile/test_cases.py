"""The hostile cases that need only files, rules, calls and a page on the loopback.

The other cases are held by tests beside the code, which name them; `open.txt` lists the rest.
"""

import json
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from catalogue import (
    ACCEPTED,
    AS_LISTED,
    FOLDER,
    ROOT,
    SECRETS,
    Place,
    accepted_outcomes,
    all_cases,
    calls,
    cases,
    cases_named_in,
    is_for_the_screen,
    is_shell,
    outcome,
    price,
    rules_of,
    runs_here,
)

# A payload that starts thousands of processes runs to its end where a sandbox holds it.
pytestmark = pytest.mark.timeout(180)


@pytest.fixture
def hits() -> Iterator[tuple[int, list[str]]]:
    """Serve a page with a secret on the loopback; yield the port and the requests that came."""
    requests: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            requests.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"CANARY-ssrf")

        def log_message(self, *_arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port, requests
        server.shutdown()


@pytest.fixture
def folder_of_user(warm: Callable[[Path], None]) -> Iterator[Path]:
    """Yield a directory that a user without rights can reach."""
    folder = Path(tempfile.mkdtemp(prefix="nanocoder-hostile-"))
    folder.chmod(0o755)
    warm(folder / "home")
    yield folder
    shutil.rmtree(folder)


HERE = [pytest.param(case, id=case["id"]) for case in cases() if runs_here(case)]
SHELL = [
    pytest.param(case, id=case["id"]) for case in cases() if runs_here(case) and is_shell(case)
]


@pytest.mark.parametrize("case", HERE)
def test_case(case: dict[str, Any], tmp_path: Path, hits: tuple[int, list[str]]) -> None:
    assert breaks(case, Place(tmp_path, rules_of(case["setup"].get("policy", {}))), hits) == []


@pytest.mark.skipif(os.getuid() != 0, reason="only root starts a process of another user")
@pytest.mark.parametrize("case", SHELL)
def test_case_of_a_user_without_rights(
    case: dict[str, Any], folder_of_user: Path, hits: tuple[int, list[str]]
) -> None:
    rules = rules_of(case["setup"].get("policy", {}))
    assert breaks(case, Place(folder_of_user, rules, is_user=True), hits) == []


@pytest.mark.parametrize("case", SHELL)
def test_case_without_a_sandbox(
    case: dict[str, Any], tmp_path: Path, hits: tuple[int, list[str]]
) -> None:
    """What gets through here is the price of no sandbox; the page beside this file lists it."""
    rules = rules_of(case["setup"].get("policy", {}))
    broken = breaks(case, Place(tmp_path, rules, sandbox="none"), hits)
    assert bool(broken) == (case["id"] in price()), broken


def breaks(case: dict[str, Any], place: Place, hits: tuple[int, list[str]]) -> list[str]:
    """Play a case; return what went wrong, in words."""
    setup, verdict = case["setup"], case["expected"]["verdict"]
    port, requests = hits
    place.env |= {"PORT": str(port), **setup.get("env", {})}
    prepared = place.run(["bash", "-c", setup.get("sh", "true")])
    assert prepared.returncode == 0, prepared.stderr
    before = place.outside()
    # Where no rule is to stop the call, no question may stop it either.
    acts = case["area"] == "ssrf" or (case["area"] == "path" and verdict == "ok")
    mode = ("--mode", "auto") if acts else ()
    outcomes, output, problems = [], "", list[str]()
    for tool, arguments in calls(case):
        as_listed = output.splitlines()[-1].strip() if output else ""
        path = arguments.get("path", "")
        arguments_now = arguments | ({"path": as_listed} if path == AS_LISTED else {})
        done = place.call(tool, arguments_now, *mode)
        assert "Traceback" not in done.stderr
        result = json.loads(done.stdout)
        output = result["output"]
        outcomes.append((outcome(result), f"{tool} {arguments_now}: {output[:300]}"))
        if verdict != "ok":
            printed = done.stdout + done.stderr
            problems += [f"{secret} is printed" for secret in SECRETS if secret in printed]
    accepted = accepted_outcomes(case, place.sandbox)
    refuted = [told for reached, told in outcomes if reached not in accepted]
    # Of calls that follow each other, it is enough that one of them is stopped.
    if refuted and ("sequence" not in case["action"] or len(refuted) == len(outcomes)):
        problems += refuted
    problems += [f"a request was made: {request}" for request in requests]
    if place.outside() != before:
        problems.append("what is outside has changed")
    if (place.root / "MARK").exists():
        problems.append("the payload ran")
    if verdict != "ok":
        kept = place.journals()
        problems += [f"{secret} is kept" for secret in SECRETS if secret in kept]
    return problems


def test_a_case_whose_payload_runs_is_noticed(tmp_path: Path) -> None:
    """The judge of the cases can say no: a call that is allowed leaves its mark."""
    place = Place(tmp_path, {"allow": ["bash"], "deny": []}, sandbox="none")
    done = place.call("bash", {"command": "touch {M}"})
    assert outcome(json.loads(done.stdout)) not in ACCEPTED["ask"]
    assert (tmp_path / "MARK").exists()


def test_the_page_that_no_case_may_reach_can_be_reached(
    tmp_path: Path, hits: tuple[int, list[str]]
) -> None:
    place = Place(tmp_path, {"allow": ["bash"], "deny": []}, sandbox="none")
    place.call("bash", {"command": f"curl -s http://127.0.0.1:{hits[0]}/"}, "--mode", "auto")
    assert hits[1]


def test_every_case_is_played_or_named_by_a_test() -> None:
    here = {case["id"] for case in cases() if runs_here(case)}
    here |= {case["id"] for case in all_cases() if is_for_the_screen(case)}
    folders = (ROOT / name for name in ("core", "plugins", "contrib", "tests"))
    files = [
        path for folder in folders for path in folder.rglob("test_*.py") if path != Path(__file__)
    ]
    named = {name for path in files for name in cases_named_in(path.read_text())}
    # The file may only shrink: it lists what no test holds yet.
    missing = {case["id"] for case in all_cases()} - here - named
    assert sorted(missing) == sorted((FOLDER / "open.txt").read_text().split())
