"""The hostile cases that need only files, rules, calls and a page on the loopback.

The other cases are held by tests beside the code, which name them; `open.txt` lists the rest.
"""

import json
import threading
from collections.abc import Iterator
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
    all_cases,
    calls,
    cases,
    cases_named_in,
    is_for_the_screen,
    outcome,
    rules_of,
    runs_here,
)


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


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=case["id"]) for case in cases() if runs_here(case)]
)
def test_case(case: dict[str, Any], tmp_path: Path, hits: tuple[int, list[str]]) -> None:
    setup, verdict = case["setup"], case["expected"]["verdict"]
    place = Place(tmp_path, rules_of(setup.get("policy", {})))
    port, requests = hits
    place.env |= {"PORT": str(port), **setup.get("env", {})}
    prepared = place.run(["bash", "-c", setup.get("sh", "true")])
    assert prepared.returncode == 0, prepared.stderr
    before = place.outside()
    # Where no rule is to stop the call, no question may stop it either.
    acts = case["area"] == "ssrf" or (case["area"] == "path" and verdict == "ok")
    mode = ("--mode", "auto") if acts else ()
    outcomes, output = [], ""
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
            assert not [secret for secret in SECRETS if secret in done.stdout + done.stderr]
    refuted = [told for reached, told in outcomes if reached not in ACCEPTED[verdict]]
    # Of calls that follow each other, it is enough that one of them is stopped.
    assert not refuted or ("sequence" in case["action"] and len(refuted) < len(outcomes)), refuted
    assert not requests
    assert place.outside() == before
    assert not (tmp_path / "MARK").exists()
    if verdict != "ok":
        assert not [secret for secret in SECRETS if secret in place.journals()]


def test_a_case_whose_payload_runs_is_noticed(tmp_path: Path) -> None:
    """The judge of the cases can say no: a call that is allowed leaves its mark."""
    place = Place(tmp_path, {"allow": ["bash"], "deny": []})
    done = place.call("bash", {"command": "touch {M}"})
    assert outcome(json.loads(done.stdout)) not in ACCEPTED["ask"]
    assert (tmp_path / "MARK").exists()


def test_the_page_that_no_case_may_reach_can_be_reached(
    tmp_path: Path, hits: tuple[int, list[str]]
) -> None:
    place = Place(tmp_path, {"allow": ["bash"], "deny": []})
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
