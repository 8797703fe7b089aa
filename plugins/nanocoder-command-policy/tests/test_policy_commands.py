"""`nanocoder policy test`, `coverage`, `diff`, `replay` and `suggest`, as people use them."""

import json

import pytest
from nanocoder import ApprovalAnswer, Host, open_session
from nanocoder_command_policy.sample_arguments import sample_of
from nanocoder_command_policy.typical_calls import typical_calls

pytestmark = pytest.mark.timeout(120)

RULES = """sandbox = "none"
[plugins.policy-rules]
deny = ["bash(git push *)", "bash(git push origin *)", "frobnicate(x)"]
allow = ["bash(pytest *)", "bash(git push *)"]
"""


@pytest.fixture(autouse=True)
def _no_sandbox(monkeypatch):
    """Have commands asked about: in a sandbox they run unasked."""
    monkeypatch.setenv("NANOCODER_SANDBOX", "none")


@pytest.fixture
def configure(nanocoder):
    """Write the person's configuration; returns its file."""

    def write(text):
        file = nanocoder.home / ".config/nanocoder/config.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    return write


@pytest.fixture
def asked(nanocoder):
    """Make a session in which commands were asked about, denied, or just ran; returns its ID."""
    commands = ("make all", "make all", "git push origin main", "ls", "bash -c ls", "bash -c ls")
    calls = [{"name": "bash", "arguments": {"command": command}} for command in commands]
    turns = [{"text": "", "calls": [call]} for call in calls]
    nanocoder("run", "--model", nanocoder.script(*turns, {"text": "done"}), "go")
    return json.loads(nanocoder("sessions", "list", "--output", "json").stdout)[0]["id"]


@pytest.mark.contract("W3")
@pytest.mark.parametrize("suffix", ["toml", "yaml"])
def test_a_file_of_calls_is_compared_with_the_verdicts(nanocoder, configure, suffix):
    configure(RULES)
    file = nanocoder.cwd / f"calls.{suffix}"
    if suffix == "toml":
        file.write_text(
            'mode = "ask"\n[[calls]]\ntool = "bash"\narguments = {command = "pytest -q"}\n'
            'verdict = "allow"\nrule = "bash(pytest *)"\n'
            '[[calls]]\ntool = "bash"\narguments = {command = "git push"}\nverdict = "ask"\n'
        )
    else:
        file.write_text(
            "mode: ask\ncalls:\n"
            "- {tool: bash, arguments: {command: pytest -q}, verdict: allow, rule: pytest}\n"
            "- {tool: bash, arguments: {command: git push}, verdict: ask}\n"
        )
    done = nanocoder("policy", "test", str(file))
    assert done.returncode == 1
    assert 'call 2: bash {"command": "git push"}' in done.stdout
    assert "  - expected verdict: ask\n  + got verdict: deny\n" in done.stdout
    assert "1 of 2 calls are judged as expected" in done.stdout
    data = json.loads(nanocoder("policy", "test", str(file), "--json").stdout)
    assert (data["calls"], data["failed"]) == (2, 1)
    assert [row["verdict"] for row in data["results"]] == ["allow", "deny"]
    configure('[plugins.policy-rules]\nallow = ["bash(pytest *)"]\n')
    assert nanocoder("policy", "test", str(file)).returncode == 0


@pytest.mark.contract("W3")
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "expected a list of calls"),
        ("[[calls]]\n", "call 1: 'tool' is missing"),
        ('[[calls]]\ntool = "bash"\nverdict = "alow"', "did you mean 'allow'?"),
        ('[[calls]]\ntool = "bash"\nverdict = "allow"\nmod = 1', "unknown key 'mod'"),
        ("[[calls", "this is not valid TOML"),
    ],
    ids=range(5),
)
def test_a_wrong_file_of_calls_is_explained(nanocoder, text, problem):
    file = nanocoder.cwd / "calls.toml"
    file.write_text(text)
    done = nanocoder("policy", "test", str(file))
    assert done.returncode == 2
    assert str(file) in done.stderr
    assert problem in done.stderr
    assert nanocoder("policy", "test", "missing.toml").returncode == 2


@pytest.mark.contract("W14")
def test_coverage_names_tools_without_a_rule_and_rules_that_never_decide(
    nanocoder, configure, asked
):
    file = configure(RULES)
    done = nanocoder("policy", "coverage", "--output", "json")
    findings = json.loads(done.stdout)["findings"]
    gaps = {(row["kind"], row["subject"]): row for row in findings}
    assert ("no rule", "read_file") in gaps
    assert ("no rule", "bash") not in gaps
    assert gaps["dead", "frobnicate(x)"]["where"] == f"{file}:3"
    shadowed = gaps["shadowed", "bash(git push origin *)"]["meaning"]
    assert shadowed == "never decides: the rule 'bash(git push *)' wins (deny)"
    assert gaps["shadowed", "bash(git push *)"]["where"] == f"{file}:4"
    assert ("never hit", "bash(pytest *)") in gaps
    assert ("never hit", "bash(git push *)") not in gaps
    text = nanocoder("policy", "coverage").stdout
    assert "frobnicate(x)" in text
    assert "no rule" not in text


@pytest.mark.contract("W14")
@pytest.mark.parametrize(
    ("allow", "deny", "tool", "arguments"),
    [
        ("bash(frob deploy *)", "bash(frob *)", "bash", {"command": "frob deploy x"}),
        ("write_file(a/b/**)", "write_file(a/**)", "write_file", {"path": "a/b/x", "content": ""}),
    ],
)
def test_an_allow_that_a_deny_beats_is_found_and_ends_with_1(
    nanocoder, configure, allow, deny, tool, arguments
):
    configure(f'[plugins.policy-rules]\nallow = ["{allow}"]\n')
    assert nanocoder("policy", "coverage").returncode == 0
    configure(f'[plugins.policy-rules]\nallow = ["{allow}"]\ndeny = ["{deny}"]\n')
    done = nanocoder("policy", "coverage", "--output", "json")
    assert done.returncode == 1
    meanings = {row["subject"]: row["meaning"] for row in json.loads(done.stdout)["findings"]}
    assert meanings[allow] == f"never decides: the rule {deny!r} wins (deny)"
    explained = nanocoder("policy", "explain", tool, json.dumps(arguments)).stdout
    assert explained.startswith(f"deny: the rule {deny!r} ")


@pytest.mark.contract("W14")
def test_coverage_shows_what_decides_about_each_tool(nanocoder, configure):
    configure('[plugins.policy-rules]\nask = ["read_file(notes/**)"]\n')
    done = nanocoder("policy", "coverage", "--output", "json")
    groups = json.loads(done.stdout)["tools"]
    by_tool = {tool: group for group in groups for tool in group["tools"]}
    assert by_tool["read_file"]["rules"] == ["read_file(notes/**)"]
    assert by_tool["grep"]["rules"] == []
    edits = by_tool["edit_file"]
    assert edits["effects"] == ["write"]
    assert edits["verdicts"]["plan"] == ["deny"]
    assert edits["verdicts"]["ask"] == ["ask", "deny"]  # a file with secrets is denied
    assert "allow" in edits["verdicts"]["edits"]
    order = [group["effects"] for group in groups]
    assert order.index(["read"]) < order.index(["write"])
    table = nanocoder("policy", "coverage").stdout.splitlines()
    assert table[0].split()[:3] == ["effects", "mode", "plan"]
    assert any("read_file(notes/**)" in line for line in table)


@pytest.mark.contract("W14")
def test_coverage_counts_a_denied_call_that_no_model_made(nanocoder, configure):
    configure('[plugins.policy-rules]\ndeny = ["bash(make *)"]\n')
    done = nanocoder("policy", "coverage", "--output", "json")
    assert ("never hit", "bash(make *)") in gaps_of(done)
    assert nanocoder("call", "bash", '{"command": "make all"}').returncode == 6
    done = nanocoder("policy", "coverage", "--output", "json")
    assert json.loads(done.stdout)["stored_calls"] == 1
    assert ("never hit", "bash(make *)") not in gaps_of(done)


def gaps_of(done):
    """Return the kinds and subjects of what a report in JSON found."""
    return {(row["kind"], row["subject"]) for row in json.loads(done.stdout)["findings"]}


@pytest.mark.parametrize(
    ("schema", "sample"),
    [
        ({"properties": {"a": {"type": "string"}, "b": {}}, "required": ["a"]}, {"a": "x"}),
        ({"type": "object"}, {}),
        ({"type": "string", "minLength": 3}, "xxx"),
        ({"type": ["integer", "null"], "minimum": 5}, 5),
        ({"type": "array", "items": {"type": "boolean"}, "minItems": 2}, [False, False]),
        ({"anyOf": [{"type": "null"}, {"type": "string"}]}, None),
        ({"enum": ["red", "green"]}, "red"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"const": 7}}}, 7),
        ({"$ref": "#"}, "x"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}, "x"),
    ],
    ids=range(10),
)
def test_a_tool_without_examples_is_judged_with_the_fewest_arguments(schema, sample):
    assert sample_of(schema) == sample


def test_coverage_leaves_the_verdict_on_no_tool_open(nanocoder):
    """Not on one whose plugin shows no example, as those of servers."""
    done = nanocoder("policy", "coverage", "--output", "json")
    for group in json.loads(done.stdout)["tools"]:
        assert all(group["verdicts"].values()), group


def test_explain_says_what_the_sandbox_hides_from_a_command(nanocoder, configure, monkeypatch):
    monkeypatch.setenv("NANOCODER_SANDBOX", "auto")
    rules = 'deny = ["read_file(secrets/**)", "write_file(data/**)"]'
    configure(f"[plugins.policy-rules]\n{rules}\n")
    call = json.dumps({"command": "cat README.md secrets/plan.md data/a > .env"})
    shown = nanocoder("policy", "explain", "bash", call).stdout
    assert shown.startswith("allow: it runs in the sandbox ")
    rule = "the rule 'read_file(secrets/**)' forbids it"
    assert f"the sandbox hides 'secrets/plan.md': {rule}\n" in shown
    assert "the sandbox hides '.env': '.env' is the name of a secret" in shown
    rule = "the rule 'write_file(data/**)' forbids it"
    assert f"the sandbox keeps 'data/a' from being changed: {rule}\n" in shown
    assert "hides 'README.md'" not in shown
    printed = nanocoder("policy", "explain", "bash", call, "--output", "json").stdout
    assert len(json.loads(printed)["hidden"]) == 3


@pytest.mark.contract("W3")
def test_explain_says_that_no_tool_opens_a_path_outside(nanocoder):
    outside = json.dumps({"path": "../x"})
    done = nanocoder("policy", "explain", "read_file", outside)
    assert "/x' is outside the workspace, where tools for files open nothing" in done.stdout
    assert nanocoder("call", "read_file", outside).returncode == 1
    inside = nanocoder("policy", "explain", "read_file", '{"path": "x"}')
    assert "outside" not in inside.stdout


@pytest.mark.contract("W14")
def test_coverage_counts_rules_that_are_tables(nanocoder, configure, asked):
    table = "[[plugins.policy-rules.rules]]\nverdict = "
    file = configure(
        f'{table}"deny"\ntool = "bash"\npattern = "git push *"\n'
        f'{table}"deny"\ntool = "bash"\npattern = "git push origin *"\nmode = "auto"\n'
        f'{table}"ask"\ntool = "frobnicate"\n'
        f'{table}"ask"\neffect = "network"\nagent = "review"\n'
    )
    findings = json.loads(nanocoder("policy", "coverage", "--output", "json").stdout)["findings"]
    gaps = {(row["kind"], row["subject"]): row for row in findings}
    assert ("no rule", "bash") not in gaps
    assert gaps["dead", "frobnicate"]["where"].startswith(f"{file}:")
    kinds = {kind for kind, subject in gaps if subject == "bash(git push origin *) in mode auto"}
    assert kinds == {"shadowed"}
    assert not [subject for _, subject in gaps if subject == "bash(git push *)"]


@pytest.mark.contract("W3")
@pytest.mark.contract("NT-63")
def test_the_drift_from_a_central_profile_lists_the_overrides_and_what_they_change(
    nanocoder, configure, asked, monkeypatch
):
    monkeypatch.delenv("NANOCODER_SANDBOX")
    central = nanocoder.cwd / "central.toml"
    central.write_text(RULES)
    configure(RULES)
    same = nanocoder("policy", "diff", str(central))
    assert (same.returncode, same.stderr) == (0, "")
    assert same.stdout.startswith("0 settings differ")
    configure(
        'sandbox = "none"\nmode = "auto"\n[plugins.policy-rules]\nallow = ["bash(pytest *)"]\n'
    )
    done = nanocoder("policy", "diff", str(central), "--output", "json")
    assert done.returncode == 1
    report = json.loads(done.stdout)
    overrides = {row["key"]: (row["old"], row["new"]) for row in report["settings"]}
    assert overrides["mode"] == ("ask", "auto")
    assert "-bash(git push *)" in overrides["plugins.policy-rules.deny"][0]
    pushes = [row for row in report["verdicts"] if "git push" in str(row["arguments"])]
    assert {(row["before"], row["after"]) for row in pushes} >= {("deny", "ask")}
    assert {row["kind"] for row in pushes} == {"looser"}
    table = nanocoder("policy", "diff", str(central), str(central))
    assert table.stdout.startswith("0 settings differ")
    assert nanocoder("policy", "diff", "missing.toml").returncode == 2


OLD = """\
sandbox = "none"
[plugins.policy-rules]
deny = ["bash(git push *)", "bash(npm publish *)"]
allow = ["bash(pytest *)"]
"""
NEW = OLD.replace('"bash(git push *)", ', "").replace("pytest *", "pytest tests/*")
REORDERED = OLD.replace(
    '"bash(git push *)", "bash(npm publish *)"', '"bash(npm publish *)", "bash(git push *)"'
)


@pytest.mark.contract("W3")
def test_what_became_looser_is_shown_before_what_became_stricter(nanocoder, monkeypatch):
    monkeypatch.delenv("NANOCODER_SANDBOX")
    for name, text in (("old", OLD), ("new", NEW), ("empty", "")):
        (nanocoder.cwd / f"{name}.toml").write_text(text)
    text = nanocoder("policy", "diff", "old.toml", "new.toml").stdout
    head, looser = text.split("Looser now: ")
    looser, stricter = looser.split("Stricter now: ")
    assert "-bash(git push *)" in head
    assert "env git push" in looser
    assert "ask edits" in stricter  # one line for both modes
    assert stricter.count("pytest -q") == len(("call", "reason"))
    assert "policy explain" in stricter
    backwards = nanocoder("policy", "diff", "new.toml", "old.toml").stdout
    assert "env git push" in backwards.split("Stricter now: ")[1]
    assert "Looser now" in nanocoder("policy", "diff", "old.toml", "empty.toml").stdout


def test_the_same_rules_in_another_order_are_said_to_be_the_same(nanocoder):
    for name, text in (("old", OLD), ("reordered", REORDERED)):
        (nanocoder.cwd / f"{name}.toml").write_text(text)
    text = nanocoder("policy", "diff", "old.toml", "reordered.toml").stdout
    assert "the same values  in another order" in text
    assert "Looser" not in text
    assert "Stricter" not in text


def test_a_broken_configuration_is_named_with_its_line(nanocoder):
    (nanocoder.cwd / "old.toml").write_text(OLD)
    (nanocoder.cwd / "broken.toml").write_text("[plugins.policy-rules\n")
    done = nanocoder("policy", "diff", "old.toml", "broken.toml")
    assert done.returncode == 2
    assert "broken.toml:1:" in done.stderr


def test_coverage_says_what_to_do_and_leaves_out_what_it_cannot_know(nanocoder, configure):
    configure('[plugins.policy-rules]\ndeny = ["frobnicate(x)", "bash(make *)"]\n')
    text = nanocoder("policy", "coverage").stdout
    assert "dead: no installed tool has this name. Correct the name" in text
    assert "never hit" not in text
    assert "no session is stored here" in text
    nanocoder("call", "bash", '{"command": "ls"}')
    text = nanocoder("policy", "coverage").stdout
    assert "never hit: no stored call fits the rule" in text


@pytest.mark.contract("W3")
def test_a_session_is_judged_anew(nanocoder, configure, asked):
    assert nanocoder("policy", "replay", asked).stdout.startswith("6 of 6 calls")
    configure('[plugins.policy-rules]\nallow = ["bash(make *)"]\n')
    done = nanocoder("policy", "replay", asked, "--output", "json")
    assert done.returncode == 1
    [change] = json.loads(done.stdout)["verdicts"]
    assert (change["before"], change["after"], change["times"]) == ("ask", "allow", 2)
    assert "make all" in nanocoder("policy", "replay").stdout


@pytest.mark.contract("W3")
def test_what_a_person_typed_is_judged_as_the_session_judged_it(nanocoder, monkeypatch):
    """Nobody is asked about what they typed, neither then nor now."""
    monkeypatch.setenv("HOME", str(nanocoder.home))
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    with Host(str(nanocoder.cwd)).session() as session:
        list(session.call("bash", {"command": "make all"}, typed=True))
        name = session.info.id
    done = nanocoder("policy", "replay", name, "--output", "json")
    assert json.loads(done.stdout) == {"calls": 1, "verdicts": []}


@pytest.mark.contract("W3")
def test_rules_are_proposed_for_what_was_asked_most_and_for_no_wrapper(nanocoder, configure, asked):
    done = nanocoder("policy", "suggest")
    assert done.stdout == (
        '[plugins.policy-rules]\nallow = [\n  # asked 2 times: make all\n  "bash(make all)",\n]\n'
    )
    configure(done.stdout)
    assert nanocoder("policy", "replay", asked).returncode == 1
    assert nanocoder("policy", "suggest").stdout.startswith("# No rule to propose")


@pytest.fixture
def answer(nanocoder, monkeypatch):
    """Make a session in which a person answers the question about each command."""
    monkeypatch.setenv("HOME", str(nanocoder.home))
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)

    def work(command, *answers, cwd=nanocoder.cwd):
        yes = iter(answers)

        def approve(request):
            return ApprovalAnswer(request.id, request.digest, approved=next(yes))

        with open_session(cwd, mode="ask", approve=approve) as session:
            for _ in answers:
                list(session.call("bash", {"command": command}))

    return work


def test_what_a_person_refused_is_no_reason_for_a_rule(nanocoder, answer):
    answer("touch util.py", False, False, False, True)
    done = nanocoder("policy", "suggest")
    assert done.stdout == (
        "# No rule to propose: you were asked 4 times in this directory and refused 3 times,"
        " and nothing repeats.\n"
    )
    answer("touch util.py", True, True)
    assert nanocoder("policy", "suggest").stdout.startswith("# No rule to propose")
    answer("touch util.py", True)
    done = nanocoder("policy", "suggest")
    assert "# approved 4 times, refused 3 times: touch util.py\n" in done.stdout
    [proposal] = json.loads(nanocoder("policy", "suggest", "--json").stdout)
    assert (proposal["times"], proposal["approved"], proposal["refused"]) == (4, 4, 3)


def test_rules_are_proposed_for_the_calls_of_this_directory_alone(nanocoder, answer):
    other = nanocoder.cwd / "other"
    other.mkdir()
    answer("touch util.py", True, True, cwd=other)
    assert nanocoder("policy", "suggest").stdout.startswith("# No rule to propose")
    there = nanocoder("policy", "suggest", "--cwd", str(other))
    assert "# approved 2 times: touch util.py" in there.stdout


def test_the_typical_calls_are_calls_that_the_tools_accept(nanocoder):
    tools = json.loads(nanocoder("tools", "--output", "json").stdout)
    calls = {call.name: call for call, _ in typical_calls({tool["name"] for tool in tools}, "ask")}
    assert {"edit_file", "bash", "read_file"} <= calls.keys()
    for name, call in calls.items():
        done = nanocoder("policy", "explain", name, json.dumps(call.arguments))
        assert "no such name" not in done.stderr, name
        assert done.stdout.startswith(("allow", "ask", "deny")), name
