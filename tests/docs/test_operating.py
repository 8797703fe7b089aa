"""The guide for operators is run: a rollout with its gate, the ways back, the check under load."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import repository

PAGE = repository.ROOT / "docs/how-to/operate.md"
SHARED = "/srv/team/rollout.json"
PROGRAM = str(Path(sys.executable).with_name("nanocoder"))
WRITE = {"name": "write_file", "arguments": {"path": "made.txt", "content": "made"}}

pytestmark = pytest.mark.timeout(240)


def commands_of(heading):
    """Return the commands of a section that begin with the program, in their order."""
    section = PAGE.read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2]
    return re.findall(r"^\$ (.+)$", section.partition("\n## ")[0], re.MULTILINE)


@pytest.fixture
def run(nanocoder):
    """Run a command of the guide, with sets that are installed and the state in this folder."""

    def run_command(command):
        text = command.replace(SHARED, "rollout.json")
        text = text.replace("acme-2", "default").replace("acme-1", "minimal")
        program, *words = shlex.split(text)
        assert program == "nanocoder", command
        return nanocoder(*words)

    return run_command


@pytest.fixture
def staged(nanocoder, run):
    """The commands of the stages by their action, once `start` has run."""
    suite = nanocoder.cwd / "suite"
    suite.mkdir()
    (suite / "task.toml").write_text("prompt = 'x'\ncheck = 'assert answer == \"yes\"'\n")
    (nanocoder.cwd / "criteria.toml").write_text("min_pass_at_1 = 1\n")
    commands = commands_of("In stages, with a gate")
    named = {re.findall(r"rollout (\w+)|nanocoder (eval)", each)[0]: each for each in commands}
    named = {first or second: each for (first, second), each in named.items()}
    done = run(named["start"])
    assert (done.returncode, "default: 5 % instead of minimal" in done.stdout) == (0, True)

    def evaluated(answer, code):
        words = f"{named['eval']} --yes --model {nanocoder.script({'text': answer})}"
        done = run(words)
        assert done.returncode == code, done.stderr
        return run(named["gate"])

    return named, evaluated


def sets_of(run):
    names = (run(f"nanocoder rollout set --key p{n}").stdout.strip() for n in range(8))
    return {*names}


@pytest.mark.contract("NT-82", "NT-89")
def test_a_rollout_goes_on_as_the_guide_says_once_the_gate_is_passed(run, staged):
    named, evaluated = staged
    assert run(named["promote"]).returncode == 2
    assert evaluated("yes", 0).returncode == 0
    assert "25 %" in run(named["promote"]).stdout
    assert "25 %, underway" in run(named["show"]).stdout
    name = re.search(r"\$\((.+?)\)", named["set"])[1]
    assert run(name).stdout.strip() in {"default", "minimal"}


@pytest.mark.contract("NT-82", "NT-89")
def test_a_gate_that_fails_twice_withdraws_the_set_as_the_guide_says(run, staged):
    _, evaluated = staged
    assert [evaluated("no", 1).returncode for _ in range(2)] == [1, 1]
    assert sets_of(run) == {"minimal"}


@pytest.mark.contract("NT-82")
def test_back_withdraws_a_set_at_once(run, staged):
    del staged
    assert "`rollout back` does the same at once" in PAGE.read_text(encoding="utf-8")
    assert run("nanocoder rollout back").returncode == 0
    assert sets_of(run) == {"minimal"}


@pytest.mark.contract("NT-82")
def test_the_steps_of_a_way_back_work(run, nanocoder):
    section = PAGE.read_text(encoding="utf-8").partition("\n## Roll back\n")[2]
    section = section.partition("\n## ")[0]
    model = nanocoder.script({"calls": [WRITE]}, {"text": "done"})
    assert nanocoder("plugins", "lock").returncode == 0
    assert nanocoder("run", "--mode", "auto", "--model", model, "go").returncode == 0
    made = nanocoder.cwd / "made.txt"
    assert made.read_text() == "made"
    for words in ("plugins sync", "sessions to-test SESSION", "sessions undo SESSION"):
        assert f"`nanocoder {words}`" in section
        more = " --yes" if "undo" in words else ""
        done = run(f"nanocoder {words.replace('SESSION', 'last')}{more}")
        assert done.returncode == 0, done.stderr
    assert not made.exists()
    assert 'plugins.disable = ["NAME"]' in section
    (nanocoder.home / ".config/nanocoder").mkdir(parents=True, exist_ok=True)
    setting = '[plugins]\ndisable = ["tool-write"]\n'
    (nanocoder.home / ".config/nanocoder/config.toml").write_text(setting)
    assert "write_file" not in nanocoder("tools").stdout


@pytest.mark.contract("NT-84")
@pytest.mark.parametrize(("objective_ms", "code"), [(60_000, 0), (0.001, 1)])
def test_the_check_under_load_measures_calls_at_once_and_ends_with_1_for_a_miss(
    nanocoder, objective_ms, code
):
    (nanocoder.cwd / "hello.py").write_text("print(1)\n")
    read = {"name": "read_file", "arguments": {"path": "hello.py"}}
    folder = nanocoder.home / ".config/nanocoder"
    folder.mkdir(parents=True, exist_ok=True)
    model = nanocoder.script({"calls": [read]}, {"text": "It prints 1."})
    text = f'model = "{model}"\n[plugins.command-observe]\np95_ms = {{ "*" = {objective_ms} }}\n'
    (folder / "config.toml").write_text(text)
    load, check = commands_of("After a release: a check under load")
    assert check == "nanocoder stats --check"
    load = load.replace("nanocoder run", f"{shlex.quote(PROGRAM)} run")
    options = {"cwd": nanocoder.cwd, "env": nanocoder.environment, "timeout": 200}
    subprocess.run(["bash", "-c", load], check=True, stdin=subprocess.DEVNULL, **options)
    answers = sorted(nanocoder.cwd.glob("answer-*.txt"))
    assert len(answers) > 4
    assert {path.read_text() for path in answers} == {"It prints 1.\n"}
    done = nanocoder(*check.split()[1:])
    assert done.returncode == code, done.stdout + done.stderr
    counted = json.loads(nanocoder("stats", "--output", "json").stdout)
    assert str(len(answers)) in json.dumps(counted)
