"""The catalogue of hostile cases, played against the command `nanocoder call`.

`cases.yaml` says for each case what the workspace holds, which rules are in force, which call is
made, and what must come of it. The cases of the areas in `AREAS` run here, each in a fresh
directory and with a fresh home; tests beside the code hold the others, and name them.
"""

import functools
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml
from attrs import define, field

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
AREAS = ("path", "shell-permission", "ssrf")
TOOLS = {
    "read": "read_file",
    "write": "write_file",
    "edit": "edit_file",
    "list": "list_files",
    "move": "move_file",
    "delete": "delete_file",
}
AS_LISTED = "<the name exactly as listed>"
ACCEPTED = {
    "ok": {"ok"},
    "ask": {"ask", "deny", "error"},  # in all three nothing has run
    "deny": {"deny", "error"},
    "error": {"error", "deny"},
}
RAN_AND_FAILED = {"exit_nonzero"}
LOOPBACK = "HTTP on 127.0.0.1:{PORT}"
SECRETS = ("CANARY-ssrf", "SECRET-7f3a", "sk-canary-31f0")
REPEATED = re.compile(r"\{REP:(.):(\d+)\}", re.DOTALL)
CASE_ID = re.compile(r"\b[A-Z]{2,5}-\d{3}\b")


@functools.cache
def all_cases() -> tuple[dict[str, Any], ...]:
    """Return the cases of the catalogue."""
    catalogue = yaml.load((FOLDER / "cases.yaml").read_text(), Loader=yaml.CSafeLoader)
    return tuple(catalogue["cases"])


def cases() -> list[dict[str, Any]]:
    """Return the cases of the areas that are played here."""
    return [case for case in all_cases() if case["area"] in AREAS]


def runs_here(case: dict[str, Any]) -> bool:
    """Tell whether a case needs nothing but files, rules and calls."""
    needs = set(case["setup"]) - {"sh", "policy", "shell", "env"}
    if case["setup"].get("server", "").startswith(LOOPBACK) and "PORT2" not in str(case):
        needs -= {"server"}
    action = set(case["action"]) - {"tool", "args", "each_path", "each_args", "sequence"}
    return not needs and not action


def calls(case: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the calls of a case: the name of the tool and its arguments."""
    action = case["action"]
    for step in action.get("sequence", [action]):
        tool = TOOLS.get(step["tool"], step["tool"])
        arguments = step.get("args", {})
        for path in step.get("each_path", []):
            yield tool, {**arguments, "path": path}
        for changed in step.get("each_args", []):
            yield tool, {**arguments, **changed}
        if not {"each_path", "each_args"} & set(step):
            yield tool, arguments


@define
class Place:
    """The directories of one case, and what its texts call them."""

    root: Path
    rules: dict[str, list[str]]
    env: dict[str, str] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        for name in ("ws", "out", "home", "tmp"):
            (self.root / name).mkdir()
        names = {"WS": "ws", "OUT": "out", "HOME": "home", "TMPDIR": "tmp", "M": "MARK"}
        self.env = {name: str(self.root / folder) for name, folder in names.items()}

    def write_out(self, value: Any) -> Any:
        """Replace the names of directories in a text, or in all texts of a structure."""
        if isinstance(value, dict):
            return {key: self.write_out(item) for key, item in value.items()}
        if not isinstance(value, str):
            return value
        for name, path in self.env.items():
            value = value.replace(f"{{{name}}}", path).replace(f"${name}", path)
        return REPEATED.sub(lambda match: match[1] * int(match[2]), value)

    def run(self, command: list[str], **env: str) -> "subprocess.CompletedProcess[str]":
        """Run a command in the workspace."""
        return subprocess.run(
            command,
            cwd=self.root / "ws",
            env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8", **self.env, **env},
            capture_output=True,
            text=True,
            errors="surrogateescape",
            stdin=subprocess.DEVNULL,
            timeout=60,
            check=False,
        )

    def call(
        self, tool: str, arguments: dict[str, Any], *options: str
    ) -> "subprocess.CompletedProcess[str]":
        """Make one call; rules that nanocoder does not accept are taken back first."""
        while True:
            self.write_rules()
            text = json.dumps(self.write_out(arguments))
            done = self.run([*NANOCODER, "call", tool, text, "--output", "json", *options])
            refused = [
                rule for rule in self.rules["allow"] if not done.stdout and rule in done.stderr
            ]
            if not refused:
                return done
            self.rules["allow"].remove(refused[0])

    def write_rules(self) -> None:
        """Write the user's configuration."""
        config = self.root / "home/.config/nanocoder/config.toml"
        config.parent.mkdir(parents=True, exist_ok=True)
        lines = [f"{name} = {json.dumps(rules)}" for name, rules in self.rules.items()]
        config.write_text("\n".join(["[plugins.policy-rules]", *lines, ""]))

    def outside(self) -> dict[str, bytes]:
        """Return what the directory outside of the workspace holds."""
        files = (path for path in (self.root / "out").rglob("*") if path.is_file())
        return {str(path): path.read_bytes() for path in files}

    def journals(self) -> str:
        """Return what the sessions of the case have written down."""
        files = (path for path in (self.root / "home").rglob("*.jsonl"))
        return "".join(path.read_text(errors="replace") for path in files)


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


NANOCODER = [sys.executable, "-P", "-m", "nanocoder"]


def written(rule: str) -> str:
    """Return a rule of the catalogue, `tool:words`, as nanocoder writes it."""
    tool, _, words = rule.partition(":")
    return f"{TOOLS.get(tool, tool)}({words} *)" if words else TOOLS.get(tool, tool)


def rules_of(policy: dict[str, Any]) -> dict[str, list[str]]:
    """Return the rules of a case by what they do."""
    return {name: [written(rule) for rule in policy.get(name, [])] for name in ("allow", "deny")}


def outcome(result: dict[str, Any]) -> str:
    """Return what became of a call: ok, ask, deny or error."""
    if result["status"] == "ok" or result["error_class"] in RAN_AND_FAILED:
        return "ok"
    return {"approval_needed": "ask", "denied": "deny"}.get(result["error_class"], "error")


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
    folders = (ROOT / name for name in ("core", "plugins", "contrib", "tests"))
    files = [
        path for folder in folders for path in folder.rglob("test_*.py") if path.parent != FOLDER
    ]
    named = {name for path in files for name in CASE_ID.findall(path.read_text())}
    # The file may only shrink: it lists what no test holds yet.
    missing = {case["id"] for case in all_cases()} - here - named
    assert sorted(missing) == sorted((FOLDER / "open.txt").read_text().split())
