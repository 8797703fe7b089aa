"""The catalogue of hostile cases, and the place where one of them is played.

`cases.yaml` says for each case what the workspace holds, which rules are in force, which call is
made, and what must come of it. A case gets a fresh directory, a fresh home and the real command.
"""

import functools
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from attrs import define, field
from command_line import forked

NANOCODER = [sys.executable, "-P", "-m", "nanocoder"]
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
USER = "65534:65534"
# A user without rights cannot enter root's home, where the interpreter may be: it gets one that
# holds the interpreter and this repository alone.
_SHOWN = " ".join({sys.base_prefix, sys.prefix, str(ROOT)})
_SCRIPT = f"""
d=$(mktemp -d); mount --rbind /root $d; mount -t tmpfs -o mode=755 tmpfs /root
for p in {_SHOWN}; do
  case "$p" in /root/*) mkdir -p "$p"; mount --rbind "$d${{p#/root}}" "$p";; esac
done
umount -l $d; rmdir $d
exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
"""
AS_USER = ("unshare", "--mount", "sh", "-euc", _SCRIPT, "sh")
LOOPBACK = "HTTP on 127.0.0.1:{PORT}"
SECRETS = ("CANARY-ssrf", "SECRET-7f3a", "sk-canary-31f0")
REPEATED = re.compile(r"\{REP:(.):(\d+)\}", re.DOTALL)
CASE_ID = re.compile(r"\b[A-Z]{2,5}-\d{3}\b")
TEST_OF_CASES = re.compile(r"^ *def test((?:_[a-z]{2,5}(?:_\d{3})+)+)_", re.MULTILINE)


@functools.cache
def all_cases() -> tuple[dict[str, Any], ...]:
    """Return the cases of the catalogue."""
    catalogue = yaml.load((FOLDER / "cases.yaml").read_text(), Loader=yaml.CSafeLoader)
    return tuple(catalogue["cases"])


def cases() -> list[dict[str, Any]]:
    """Return the cases of the areas that are played here."""
    return [case for case in all_cases() if case["area"] in AREAS]


def runs_here(case: dict[str, Any]) -> bool:
    """Return True if a case needs nothing but files, rules and calls."""
    needs = set(case["setup"]) - {"sh", "policy", "shell", "env"}
    if case["setup"].get("server", "").startswith(LOOPBACK) and "PORT2" not in str(case):
        needs -= {"server"}
    action = set(case["action"]) - {"tool", "args", "each_path", "each_args", "sequence"}
    return not needs and not action


def is_shell(case: dict[str, Any]) -> bool:
    """Return True if a case is about a command."""
    return case["area"] == "shell-permission"


def accepted_outcomes(case: dict[str, Any], sandbox: str) -> set[str]:
    """Return what may become of the calls of a case.

    A command that should ask may run where a sandbox holds it, as long as nothing comes of it;
    without one, a command that could run unasked may ask.
    """
    verdict = case["expected"]["verdict"]
    if not is_shell(case) or verdict == "deny":
        return ACCEPTED[verdict]
    more = {"ok"} if sandbox != "none" and verdict == "ask" else {"ask"}
    return ACCEPTED[verdict] | more


@functools.cache
def price() -> frozenset[str]:
    """Return the IDs of the cases that get through without a sandbox, as the page lists them."""
    return frozenset(CASE_ID.findall((FOLDER / "README.md").read_text().partition("## Price")[2]))


def is_for_the_screen(case: dict[str, Any]) -> bool:
    """Return True if a case is a file whose text attacks the person who sees it."""
    return set(case["setup"]) == {"sh", "file"} and case["action"].get("tool") == "read"


def cases_named_in(text: str) -> set[str]:
    """Return the IDs in the text of a test file: as they are, or as names of tests begin.

    `test_prov_036_037_a_call_fails` names PROV-036 and PROV-037.
    """
    named = set(CASE_ID.findall(text))
    for parts in TEST_OF_CASES.findall(text):
        area = ""
        for part in parts.strip("_").split("_"):
            area = area if part.isdigit() else part.upper()
            named |= {f"{area}-{part}"} if part.isdigit() else set()
    return named


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
    """The directories of one case, and what its texts call them.

    *sandbox* is the setting of that name; with *is_user* a user without rights runs everything.
    """

    root: Path
    rules: dict[str, list[str]]
    env: dict[str, str] = field(factory=dict)
    sandbox: str = "auto"
    is_user: bool = False

    def __attrs_post_init__(self) -> None:
        for name in ("ws", "out", "home", "tmp"):
            (self.root / name).mkdir(exist_ok=True)  # a fixture has filled the home
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
        if self.is_user:
            subprocess.run(["chown", "-R", USER, str(self.root)], check=True)
            command = [*AS_USER, *command]
        return subprocess.run(
            command,
            cwd=self.root / "ws",
            env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8", **self.env, **env},
            capture_output=True,
            text=True,
            errors="surrogateescape",
            stdin=subprocess.DEVNULL,
            timeout=150,
            check=False,
        )

    def call(
        self, tool: str, arguments: dict[str, Any], *options: str
    ) -> "subprocess.CompletedProcess[str]":
        """Make one call; rules that nanocoder does not accept are taken back first."""
        while True:
            self.write_rules()
            text = json.dumps(self.write_out(arguments))
            program = NANOCODER if self.is_user else forked().split()
            done = self.run([*program, "call", tool, text, "--output", "json", *options])
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
        head = [f'sandbox = "{self.sandbox}"', "[plugins.policy-rules]"]
        config.write_text("\n".join([*head, *lines, ""]))

    def outside(self) -> dict[str, bytes]:
        """Return what the directory outside of the workspace holds."""
        files = (path for path in (self.root / "out").rglob("*") if path.is_file())
        return {str(path): path.read_bytes() for path in files}

    def journals(self) -> str:
        """Return what the sessions of the case have written down."""
        files = (path for path in (self.root / "home").rglob("*.jsonl"))
        return "".join(path.read_text(errors="replace") for path in files)


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
